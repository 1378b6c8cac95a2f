/* The style and the script that all HTML pages share. See html.h.
 *
 * The script takes no text from the page as code or as markup. */
#include "parsers/base/output/html.h"

/* clang-format off */
static const char *const shared_style[] = {
    ":root { color-scheme: light; --page: #ffffff; --ink: #1c2127; --soft: #59636e; --line: #d9dee4; --card: #f5f7f9; --bad: #c4432b; --hours: #2c6cae;",
    "  --link: #0a58a8; --note: #fff4d6; --zebra: #fafbfc; }",
    "@media (prefers-color-scheme: dark) { :root:not([data-theme=light]) { color-scheme: dark; --page: #14181d; --ink: #e3e7eb; --soft: #9aa5b1; --line: #323a43;",
    "  --card: #1d232a; --bad: #e8745c; --hours: #6ba6e0; --link: #7db5ef; --note: #3a3115; --zebra: #181d23; } }",
    ":root[data-theme=dark] { color-scheme: dark; --page: #14181d; --ink: #e3e7eb; --soft: #9aa5b1; --line: #323a43; --card: #1d232a; --bad: #e8745c;",
    "  --hours: #6ba6e0; --link: #7db5ef; --note: #3a3115; --zebra: #181d23; }",
    "* { box-sizing: border-box; }",
    "body { margin: 0 auto; max-width: 1240px; padding: 20px 24px 48px; background: var(--page); color: var(--ink); font: 15px/1.45 system-ui, sans-serif; }",
    "header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 16px; margin-bottom: 16px; }",
    "h1 { margin: 0; font-size: 26px; }",
    "h2 { margin: 34px 0 10px; font-size: 19px; }",
    "h3 { margin: 22px 0 6px; font-size: 15px; color: var(--soft); font-weight: 600; }",
    "h2 span, summary span { color: var(--soft); font-weight: 400; }",
    "a { color: var(--link); text-decoration: none; }",
    "a:hover { text-decoration: underline; }",
    ":focus-visible { outline: 2px solid var(--hours); outline-offset: 2px; }",
    "button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; }",
    "#theme { padding: 4px 12px; border: 1px solid var(--line); border-radius: 6px; font-size: 13px; color: var(--soft); }",
    "nav { display: flex; flex-wrap: wrap; gap: 2px 16px; margin: 0 0 18px; font-size: 14px; }",
    ".note { margin: 12px 0 0; padding: 8px 12px; background: var(--note); border-radius: 6px; overflow-wrap: anywhere; }",
    ".rest { margin: 6px 0; color: var(--soft); font-size: 14px; overflow-wrap: anywhere; }",
    "figure { margin: 0; min-width: 0; }",
    "figcaption { margin-bottom: 8px; font-weight: 600; }",
    "svg { display: block; }",
    ".top, .axis { display: flex; justify-content: space-between; color: var(--soft); font-size: 12px; }",
    ".wide { overflow-x: auto; }",
    "table { border-collapse: collapse; width: 100%; font-size: 14px; }",
    "caption { text-align: left; font-weight: 600; padding: 4px 8px; overflow-wrap: anywhere; }",
    "th, td { padding: 5px 8px; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }",
    "th { white-space: nowrap; font-weight: 600; color: var(--soft); }",
    "td { overflow-wrap: break-word; }",
    "details { border: 1px solid var(--line); border-radius: 8px; padding: 8px 12px; margin-bottom: 8px; }",
    "summary { cursor: pointer; font-weight: 600; overflow-wrap: anywhere; }",
    "pre { margin: 0; padding: 10px 12px; background: var(--card); border: 1px solid var(--line); border-radius: 6px; white-space: pre-wrap; overflow-wrap: anywhere;",
    "  font: 13px/1.5 ui-monospace, monospace; }",
    ".command { user-select: all; }",
    "footer { margin-top: 40px; color: var(--soft); font-size: 13px; }",
    ".number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }",
    "@media (max-width: 560px) { body { padding: 14px 12px 40px; } }",
    "@media print { #theme { display: none; } }",
};
/* clang-format on */

const struct wo_html_part wo_html_style = {.lines = shared_style,
                                           .count = sizeof shared_style / sizeof *shared_style,
                                           .hash = "sha256-6WCl0VEQgy/jGYa4kdufzD/Z1/V1hZgHACz5/ClXF40="};

/* clang-format off */
static const char *const shared_script[] = {
    "(function () {",
    "  \"use strict\";",
    "  const theme = document.getElementById(\"theme\");",
    "  if (!theme) return;",
    "  theme.hidden = false;",
    "  theme.addEventListener(\"click\", () => {",
    "    const root = document.documentElement, isDark = matchMedia(\"(prefers-color-scheme: dark)\").matches;",
    "    const now = root.dataset.theme || (isDark ? \"dark\" : \"light\");",
    "    root.dataset.theme = now === \"dark\" ? \"light\" : \"dark\";",
    "  });",
    "}());",
};
/* clang-format on */

const struct wo_html_part wo_html_script = {.lines = shared_script,
                                            .count = sizeof shared_script / sizeof *shared_script,
                                            .hash = "sha256-U+7EFGx/PcXGdk1qjXU68eX7bht11i1NpSHEeyPRkTg="};
