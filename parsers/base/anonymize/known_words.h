/* SPDX-License-Identifier: Apache-2.0 */
/* Words that name no person, machine or project: what names of files, folders and jobs may keep when they are anonymised. */
#ifndef WO_KNOWN_WORDS_H
#define WO_KNOWN_WORDS_H

#include <stdbool.h>

#include "parsers/base/view.h"

/* Whether a word (letters and digits) is of the list, a number, a number with a unit ("7b", "24g"), a word of the list with a
 * number behind it ("rank0", "python3"), one letter with a short number ("v2"), of one or two letters,
 * or made of such words as classes are ("Qwen2Trainer"). */
bool wo_known_word(struct wo_view word);

/* Whether all words of a name are known: nothing is learned from it about who used it. */
bool wo_known_name(struct wo_view name);

/* Whether a name has the name of a family of models in it ("lora-qwen7b"). */
bool wo_known_model(struct wo_view name);

/* Whether a folder of that name is a package that everybody has the same of ("torch"). */
bool wo_known_package(struct wo_view name);

/* Whether "NAME/MODEL" is published under the name of a company or group that everybody knows ("meta-llama"). */
bool wo_known_publisher(struct wo_view name);

/* Whether pages of a web host say nothing about who reads them (documentation) / whether its name does not, but its paths may. */
bool wo_known_docs_host(struct wo_view host);
bool wo_known_web_host(struct wo_view host);

/* Whether every machine has an account of that name ("root"). */
bool wo_known_system_user(struct wo_view name);

/* Whether a name ends as that of a file does (".py"), with something before it. */
bool wo_known_file_ending(struct wo_view name);

/* Whether a name ends as that of a host does (".edu", ".de"), and not as that of a file or of a module. */
bool wo_known_host_ending(struct wo_view name);

#endif
