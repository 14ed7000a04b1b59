#!/bin/sh
# -B: compiled once, at the installation; the service could not write here.
exec /usr/lib/ioplateau/python -B /usr/lib/ioplateau "$@"
