{{/* Slurm's `Key=value` lines from a map; lists are joined by commas */}}
{{- define "slurm.lines" -}}
{{- range $key, $value := . }}
{{ $key }}={{ if kindIs "slice" $value }}{{ join "," $value }}{{ else }}{{ $value }}{{ end }}
{{- end }}
{{- end -}}

{{- define "slurm.meta" -}}
namespace: {{ .Release.Namespace }}
labels: {{- include "chart.labels" . | nindent 2 }}
{{- end -}}
