{{- define "pod.placement" -}}
priorityClassName: {{ .Values.priorityClassName }}
{{- with .Values.runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "pod.image" -}}
{{- printf "%s:%s" .Values.image.repository (default (printf "v%s" .Chart.AppVersion) .Values.image.tag) -}}
{{- end -}}

{{- define "pod.env" -}}
{{- $settings := dict "DEVICE_LIST_STRATEGY" .Values.deviceListStrategy "MIG_STRATEGY" .Values.migStrategy -}}
{{- $_ := set $settings "FAIL_ON_INIT_ERROR" .Values.failOnInitError -}}
{{- $_ := set $settings "DEVICE_ID_STRATEGY" .Values.deviceIDStrategy -}}
{{- $_ := set $settings "PASS_DEVICE_SPECS" .Values.passDeviceSpecs -}}
{{- $_ := set $settings "NVIDIA_DRIVER_ROOT" .Values.nvidiaDriverRoot -}}
{{- $_ := set $settings "GDRCOPY_ENABLED" .Values.gdrcopyEnabled -}}
{{- $_ := set $settings "MOFED_ENABLED" .Values.mofedEnabled -}}
{{- range $name, $value := $settings }}
{{- if not (kindIs "invalid" $value) }}
- name: {{ $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end }}
- name: NVIDIA_VISIBLE_DEVICES
  value: all
- name: NVIDIA_DRIVER_CAPABILITIES
  value: compute,utility
{{- end -}}
