#!/usr/bin/env bash
# Whether Node.js is here and as new as the viewer's tools want it (Vite: 20.19, or 22.12 and newer).
set -euo pipefail
node -e '
  const [major, minor] = process.versions.node.split(".").map(Number);
  process.exit((major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major > 22 ? 0 : 1);
' 2>/dev/null
