"""Where npm puts the program of each coding agent, without the scripts of its package."""

PATHS = {
    "codex": ".bin/codex",
    "copilot": ".bin/copilot",
    "opencode": "opencode-linux-x64/bin/opencode",
    "kilo": "@kilocode/cli-linux-x64/bin/kilo",
    "cline": "@cline/cli-linux-x64/bin/cline",
    "pi": ".bin/pi",
}
