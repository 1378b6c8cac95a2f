/* The script of the page of one job: values under the pointer, copying, printing. See html_internal.h.
 *
 * The page can be read without it; it takes no text from the page as code or as markup. */
#include "analyzer/document/html_internal.h"

/* clang-format off */
static const char *const script[] = {
    "(function () {",
    "  \"use strict\";",
    "  const all = (selector, root) => Array.from((root || document).querySelectorAll(selector));",
    "",
    "  /* Copies without a clipboard of the browser (a page from a file may have none) go by a selection. */",
    "  function copy(button) {",
    "    const text = button.dataset.copy;",
    "    const done = () => { button.textContent = \"copied\"; setTimeout(() => { button.textContent = \"copy\"; }, 1500); };",
    "    const select = () => {",
    "      const area = document.createElement(\"textarea\");",
    "      area.value = text;",
    "      document.body.append(area);",
    "      area.select();",
    "      if (document.execCommand(\"copy\")) done();",
    "      area.remove();",
    "    };",
    "    if (navigator.clipboard && window.isSecureContext) navigator.clipboard.writeText(text).then(done, select);",
    "    else select();",
    "  }",
    "  for (const button of all(\".copy\")) {",
    "    button.hidden = false;",
    "    button.addEventListener(\"click\", () => copy(button));",
    "  }",
    "",
    "  /* A link into a closed box opens it. */",
    "  function open() {",
    "    const target = /^#[a-z]+(-[0-9]+)?$/.test(location.hash) ? document.getElementById(location.hash.slice(1)) : null;",
    "    const box = target ? target.closest(\"details\") : null;",
    "    if (!box || box.open) return;",
    "    box.open = true;",
    "    target.scrollIntoView();",
    "  }",
    "  addEventListener(\"hashchange\", open);",
    "  open();",
    "",
    "  /* Everything is on paper. */",
    "  let closed = [];",
    "  addEventListener(\"beforeprint\", () => {",
    "    closed = all(\"details:not([open])\");",
    "    for (const box of closed) box.open = true;",
    "  });",
    "  addEventListener(\"afterprint\", () => {",
    "    for (const box of closed) box.open = false;",
    "  });",
    "}());",
};
/* clang-format on */

const struct wo_html_part wo__document_script = {
    .lines = script, .count = sizeof script / sizeof *script, .hash = "sha256-iDNNSlaaEPU5RyRqOj+epwFTdK2iccFaLVXppH2KyW0="};
