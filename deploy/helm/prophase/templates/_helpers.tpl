{{- define "prophase.name" -}}
{{- if contains "prophase" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-prophase" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "prophase.selector" -}}
app.kubernetes.io/name: prophase
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "prophase.labels" -}}
{{ include "prophase.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "prophase.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "prophase.claim" -}}
{{ .Values.workspace.existingClaim | default (include "prophase.name" .) }}
{{- end }}

{{- define "prophase.tlsSecret" -}}
{{ .Values.tls.existingSecret | default (printf "%s-tls" (include "prophase.name" .)) }}
{{- end }}

{{/* names in TOML are quoted, so that patterns such as team-* are possible */}}
{{- define "prophase.toml" -}}
engine = "duckdb"
seed = 0
{{- with .Values.settings.requests }}

[requests]
{{- range $name, $value := . }}
{{ $name }} = {{ toJson $value }}
{{- end }}
{{- end }}

[submit]
token = {{ not .Values.webhook.allowWithoutToken }}
{{- range $name, $value := omit .Values.settings.submit "namespaces" }}
{{ $name }} = {{ toJson $value }}
{{- end }}
{{- range $pattern, $rules := .Values.settings.submit.namespaces }}

[submit.namespaces.{{ toJson $pattern }}]
{{- range $name, $value := $rules }}
{{ $name }} = {{ toJson $value }}
{{- end }}
{{- end }}
{{- end }}

{{- define "prophase.container" -}}
image: {{ include "prophase.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
volumeMounts:
  - {name: workspace, mountPath: /workspace}
  - {name: settings, mountPath: /workspace/prophase.toml, subPath: prophase.toml, readOnly: true}
  - {name: tmp, mountPath: /tmp}
{{- end }}

{{- define "prophase.env" -}}
- {name: HOME, value: /tmp}
- {name: MPLCONFIGDIR, value: /tmp}
- {name: NUMBA_CACHE_DIR, value: /tmp}
{{- with .Values.database.existingSecret }}
- name: PROPHASE_DATABASE
  valueFrom:
    secretKeyRef: {name: {{ . }}, key: {{ $.Values.database.key }}}
{{- end }}
{{- end }}

{{- define "prophase.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "prophase.volumes" -}}
- name: workspace
  {{- if .Values.database.existingSecret }}
  # a copy of the version in use, fetched from the database
  emptyDir:
    sizeLimit: {{ .Values.workspace.size }}
  {{- else }}
  persistentVolumeClaim:
    claimName: {{ include "prophase.claim" . }}
  {{- end }}
- name: settings
  configMap:
    name: {{ include "prophase.name" . }}
- name: tmp
  emptyDir: {}
{{- end }}
