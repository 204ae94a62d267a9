#!/bin/sh
exec "$(command -v python || command -v python3)" "$(dirname "$0")/src/collect_submission.py" "$@"
