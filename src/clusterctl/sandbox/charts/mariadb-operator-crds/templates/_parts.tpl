{{- define "chart.labels" -}}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* A definition whose resources are kept as they are given: dict "group" "version" "kind" "plural" "scope" "root" */}}
{{- define "chart.definition" -}}
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: {{ .plural }}.{{ .group }}
  labels: {{- include "chart.labels" .root | nindent 4 }}
  {{- if .keep }}
  annotations: {helm.sh/resource-policy: keep}
  {{- end }}
spec:
  group: {{ .group }}
  scope: {{ .scope | default "Namespaced" }}
  names: {kind: {{ .kind }}, listKind: {{ .kind }}List, plural: {{ .plural }}, singular: {{ lower .kind }}}
  versions:
    - name: {{ .version }}
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
            status: {type: object, x-kubernetes-preserve-unknown-fields: true}
{{- end -}}
