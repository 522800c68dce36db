{{- define "operator.rules" -}}
- {apiGroups: [ray.io], resources: ["*"], verbs: ["*"]}
- {apiGroups: [""], resources: [pods, services, serviceaccounts, events, secrets, configmaps], verbs: ["*"]}
- {apiGroups: [batch], resources: [jobs], verbs: ["*"]}
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create, get, list, update]}
- {apiGroups: [networking.k8s.io], resources: [ingresses, networkpolicies], verbs: ["*"]}
- {apiGroups: [rbac.authorization.k8s.io], resources: [roles, rolebindings], verbs: ["*"]}
{{- if or .Values.batchScheduler.enabled (eq .Values.batchScheduler.name "volcano") }}
- {apiGroups: [scheduling.volcano.sh], resources: [podgroups], verbs: ["*"]}
- {apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [get]}
{{- end }}
{{- end -}}
