# SPDX-License-Identifier: Apache-2.0
"""How views look: one style for notebooks and pages, in light and in dark."""

_LIGHT = """--ink: #1c2430; --soft: #5b6675; --line: #dde2e8; --paper: #ffffff; --card: #f7f8fa;
  --good: #1f7a4d; --bad: #b3372f;
  --split-0: #2f6fde; --split-1: #e08a1e; --split-2: #2a9d6f; --split-3: #b0489c;
  --series-0: #2b65d0; --series-1: #b85c00; --series-2: #1c7d55; --series-3: #a03a8c;
  --series-4: #0b7285; --series-5: #c2304a; --series-6: #6741d9; --series-7: #7a6a00;
  --series-8: #495057; --series-9: #2f9e44;"""
_DARK = """--ink: #e6e9ee; --soft: #9aa5b4; --line: #323a46; --paper: #14181e; --card: #1b2129;
  --good: #57c79a; --bad: #f2897f;
  --split-0: #6ea0ff; --split-1: #f2ab52; --split-2: #57c79a; --split-3: #d983c8;
  --series-0: #7aa8ff; --series-1: #f2ab52; --series-2: #57c79a; --series-3: #e08bd0;
  --series-4: #4fc3d8; --series-5: #ff8a9a; --series-6: #b197fc; --series-7: #d8c64a;
  --series-8: #adb5bd; --series-9: #8ce99a;"""
STYLE = (
    f".stoker {{ {_LIGHT} }}\n"
    f"@media (prefers-color-scheme: dark) {{ .stoker {{ {_DARK} }} }}\n"
    # Notebooks have themes of their own, which need not be the browser's.
    f'[data-jp-theme-light="true"] .stoker, .vscode-light .stoker {{ {_LIGHT} }}\n'
    f'[data-jp-theme-light="false"] .stoker, .vscode-dark .stoker {{ {_DARK} }}'
    """
.stoker { color: var(--ink); background: var(--paper); font: 14px/1.5 system-ui, sans-serif;
  padding: 10px 14px 14px; }
.stoker h1 { font-size: 20px; margin: 0 0 2px; }
.stoker h2 { font-size: 15px; margin: 22px 0 6px; }
.stoker h3 { font-size: 14px; margin: 0 0 8px; overflow-wrap: anywhere; }
.stoker .about, .stoker .kind { color: var(--soft); }
.stoker .about { margin: 0 0 14px; overflow-wrap: anywhere; }
.stoker .kind { font-weight: 400; font-size: 12px; margin-left: 6px; }
.stoker .scroll { overflow-x: auto; }
.stoker table { border-collapse: collapse; font-size: inherit; font-variant-numeric: tabular-nums;
  margin: 0; table-layout: auto; }
.stoker tbody tr:nth-child(n) { background: none; }
.stoker th, .stoker td { padding: 5px 14px 5px 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); }
.stoker th { color: var(--soft); font-weight: 500; white-space: nowrap; }
.stoker td:first-child { font-weight: 600; white-space: nowrap; }
.stoker .cards { display: grid; gap: 14px;
  grid-template-columns: repeat(auto-fill, minmax(352px, 1fr)); }
.stoker .card { background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  padding: 12px 15px; min-width: 0; }
.stoker .card table { font-size: 12px; width: 100%; margin-top: 8px; }
.stoker .card th, .stoker .card td { padding: 2px 6px 2px 0; border: 0; font-weight: 400;
  white-space: nowrap; }
.stoker .key { display: inline-block; width: 9px; height: 9px; border-radius: 2px;
  margin-right: 5px; background: var(--colour); }
.stoker svg { display: block; width: 100%; height: auto; }
.stoker svg text { fill: var(--soft); font-size: 11px; }
.stoker svg line { stroke: var(--line); }
.stoker svg rect { fill: var(--colour); fill-opacity: 0.62; }
.stoker svg rect.over { fill-opacity: 0.22; stroke: var(--colour); stroke-width: 1.2; }
.stoker svg circle { fill: var(--colour); }
.stoker svg polyline { fill: none; stroke: var(--colour); stroke-width: 2;
  stroke-linejoin: round; }
.stoker svg polyline.faint { stroke-opacity: 0.28; stroke-width: 1; }
.stoker svg.bar { width: 84px; height: 3px; margin-top: 2px; --colour: var(--split-0); }
.stoker .verdict { display: inline-block; padding: 3px 12px; border-radius: 14px; font-weight: 600;
  border: 1px solid currentColor; }
.stoker .good { color: var(--good); }
.stoker .bad { color: var(--bad); }
"""
    + "".join(
        # There are seldom more than four splits, and runs to compare may be ten.
        f".stoker .split-{number} {{ --colour: var(--split-{number}, var(--series-{number})); }}\n"
        f".stoker .series-{number} {{ --colour: var(--series-{number}); }}\n"
        for number in range(10)
    )
)
PAGE_STYLE = (
    ":root { color-scheme: light dark; } body { margin: 0; } "
    "body > .stoker { min-height: 100vh; box-sizing: border-box; padding: 26px 32px 40px; }"
)
