# What pint holds the rules to beyond its defaults:
#
#   pint --offline --config alerts/pint/pint.hcl lint alerts/*.rules.yml
#
# Against a live Prometheus, add to it:  prometheus "mine" { uri = "http://localhost:9090" }
rule {
  match {
    kind = "alerting"
  }
  annotation "summary" {
    severity = "bug"
    required = true
  }
  annotation "description" {
    severity = "bug"
    required = true
  }
  annotation "runbook_url" {
    severity = "bug"
    required = true
    value    = "https://.+/docs/runbooks/[a-z-]+[.]md"
  }
  label "severity" {
    severity = "bug"
    required = true
    value    = "info|warning|critical"
  }
  label "scope" {
    severity = "bug"
    required = true
    value    = "vm|volume"
  }
}
rule {
  match {
    kind = "recording"
  }
  # level:metric:operation
  name "ioplateau:[a-z_]+:[a-z0-9]+" {
    severity = "bug"
  }
}
