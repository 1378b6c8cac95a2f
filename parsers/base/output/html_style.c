/* SPDX-License-Identifier: Apache-2.0 */
/* The style and the script that all HTML pages share. See html.h.
 *
 * The script takes no text from the page as code or as markup. */
#include "parsers/base/output/html.h"

/* clang-format off */
static const char shared_style[] =
    ":root { color-scheme: light; --page: #ffffff; --ink: #1c2127; --soft: #59636e; --line: #d9dee4; --card: #f5f7f9; --bad: #c4432b; --hours: #2c6cae;\n"
    "  --link: #0a58a8; --note: #fff4d6; --zebra: #fafbfc; }\n"
    "@media (prefers-color-scheme: dark) { :root:not([data-theme=light]) { color-scheme: dark; --page: #14181d; --ink: #e3e7eb; --soft: #9aa5b1; --line: #323a43;\n"
    "  --card: #1d232a; --bad: #e8745c; --hours: #6ba6e0; --link: #7db5ef; --note: #3a3115; --zebra: #181d23; } }\n"
    ":root[data-theme=dark] { color-scheme: dark; --page: #14181d; --ink: #e3e7eb; --soft: #9aa5b1; --line: #323a43; --card: #1d232a; --bad: #e8745c;\n"
    "  --hours: #6ba6e0; --link: #7db5ef; --note: #3a3115; --zebra: #181d23; }\n"
    "* { box-sizing: border-box; }\n"
    "body { margin: 0 auto; max-width: 1240px; padding: 20px 24px 48px; background: var(--page); color: var(--ink); font: 15px/1.45 system-ui, sans-serif; }\n"
    "header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 16px; margin-bottom: 16px; }\n"
    "h1 { margin: 0; font-size: 26px; }\n"
    "h2 { margin: 34px 0 10px; font-size: 19px; }\n"
    "h3 { margin: 22px 0 6px; font-size: 15px; color: var(--soft); font-weight: 600; }\n"
    "h2 span, summary span { color: var(--soft); font-weight: 400; }\n"
    "a { color: var(--link); text-decoration: none; }\n"
    "a:hover { text-decoration: underline; }\n"
    ":focus-visible { outline: 2px solid var(--hours); outline-offset: 2px; }\n"
    "button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; }\n"
    "#theme { padding: 4px 12px; border: 1px solid var(--line); border-radius: 6px; font-size: 13px; color: var(--soft); }\n"
    "nav { display: flex; flex-wrap: wrap; gap: 2px 16px; margin: 0 0 18px; font-size: 14px; }\n"
    ".note { margin: 12px 0 0; padding: 8px 12px; background: var(--note); border-radius: 6px; overflow-wrap: anywhere; }\n"
    ".rest { margin: 6px 0; color: var(--soft); font-size: 14px; overflow-wrap: anywhere; }\n"
    "figure { margin: 0; min-width: 0; }\n"
    "figcaption { margin-bottom: 8px; font-weight: 600; }\n"
    "svg { display: block; }\n"
    ".top, .axis { display: flex; justify-content: space-between; color: var(--soft); font-size: 12px; }\n"
    ".wide { overflow-x: auto; }\n"
    "table { border-collapse: collapse; width: 100%; font-size: 14px; }\n"
    "caption { text-align: left; font-weight: 600; padding: 4px 8px; overflow-wrap: anywhere; }\n"
    "th, td { padding: 5px 8px; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }\n"
    "th { white-space: nowrap; font-weight: 600; color: var(--soft); }\n"
    "td { overflow-wrap: break-word; }\n"
    "details { border: 1px solid var(--line); border-radius: 8px; padding: 8px 12px; margin-bottom: 8px; }\n"
    "summary { cursor: pointer; font-weight: 600; overflow-wrap: anywhere; }\n"
    "pre { margin: 0; padding: 10px 12px; background: var(--card); border: 1px solid var(--line); border-radius: 6px; white-space: pre-wrap; overflow-wrap: anywhere;\n"
    "  font: 13px/1.5 ui-monospace, monospace; }\n"
    ".command { user-select: all; }\n"
    "footer { margin-top: 40px; color: var(--soft); font-size: 13px; }\n"
    ".number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }\n"
    "@media (max-width: 560px) { body { padding: 14px 12px 40px; } }\n"
    "@media print { #theme { display: none; } }\n";
/* clang-format on */

const struct wo_html_part wo_html_style = {.text = {shared_style, sizeof shared_style - 1},
                                           .hash = "sha256-6WCl0VEQgy/jGYa4kdufzD/Z1/V1hZgHACz5/ClXF40="};

/* clang-format off */
static const char shared_script[] =
    "(function () {\n"
    "  \"use strict\";\n"
    "  const theme = document.getElementById(\"theme\");\n"
    "  if (!theme) return;\n"
    "  theme.hidden = false;\n"
    "  theme.addEventListener(\"click\", () => {\n"
    "    const root = document.documentElement, isDark = matchMedia(\"(prefers-color-scheme: dark)\").matches;\n"
    "    const now = root.dataset.theme || (isDark ? \"dark\" : \"light\");\n"
    "    root.dataset.theme = now === \"dark\" ? \"light\" : \"dark\";\n"
    "  });\n"
    "}());\n";
/* clang-format on */

const struct wo_html_part wo_html_script = {.text = {shared_script, sizeof shared_script - 1},
                                            .hash = "sha256-U+7EFGx/PcXGdk1qjXU68eX7bht11i1NpSHEeyPRkTg="};
