"""Web: an HTTP server with TLS and passwords, as exporters have it. Knows nothing of storage."""
