/* SPDX-License-Identifier: Apache-2.0 */
/* See pointer.h. */
#include "analyzer/library/pointer.h"

#include <stdbool.h>
#include <string.h>

#include "parsers/base/number.h"

/* Whether a token is this name: "~1" in it is '/', "~0" is '~'. */
static bool is_name(struct wo_view token, const char *name) {
  for (size_t i = 0; i < token.len; i++, name++) {
    const bool is_escape = token.ptr[i] == '~' && i + 1 < token.len && (token.ptr[i + 1] == '0' || token.ptr[i + 1] == '1');
    const char want = !is_escape ? token.ptr[i] : token.ptr[++i] == '0' ? '~' : '/';
    if (*name != want) return false;
  }
  return *name == '\0';
}

/* "0", "12"; not "01", "-". */
static const cJSON *find_element(const cJSON *list, struct wo_view token) {
  struct wo_view digits = token;
  uint64_t number = 0;
  const bool is_whole = wo_number_u64(&digits, INT32_MAX, &number) == WO_OK && digits.len == 0;
  if (!is_whole || (token.len > 1 && token.ptr[0] == '0')) return NULL;
  return cJSON_GetArrayItem(list, (int)number);
}

static const cJSON *find_member(const cJSON *object, struct wo_view token) {
  for (const cJSON *member = object->child; member; member = member->next) {
    if (is_name(token, member->string)) return member;
  }
  return NULL;
}

const cJSON *wo_pointer_find(const cJSON *root, const char *pointer) {
  const cJSON *found = root;
  struct wo_view rest = wo_view_of(pointer);
  if (rest.len > 0 && rest.ptr[0] != '/') return NULL;
  while (found && rest.len > 0) {
    rest = wo_view_skip(rest, 1);
    const size_t slash = wo_view_find_char(rest, '/', 0);
    const struct wo_view token = wo_view_sub(rest, 0, slash == WO_NOT_FOUND ? rest.len : slash);
    rest = wo_view_skip(rest, token.len);
    found = cJSON_IsObject(found) ? find_member(found, token) : cJSON_IsArray(found) ? find_element(found, token) : NULL;
  }
  return found;
}
