{{- define "common.name" -}}{{ .Chart.Name }}{{- end -}}
