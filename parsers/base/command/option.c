/* SPDX-License-Identifier: Apache-2.0 */
/* Values of options. See option.h. */
#include "parsers/base/command/option.h"

#include <assert.h>
#include <stdio.h>

#include "parsers/base/number.h"

/* Bytes of a value that a message repeats. */
enum { SHOWN_MAX = 60, WANTS_BYTES = 160 };

int wo_option_choice(const char *choices, struct wo_view name) {
  struct wo_view rest = wo_view_of(choices);
  for (int place = 0; rest.len > 0; place++) {
    if (wo_view_equal(wo_view_cut(&rest, '|'), name) && name.len > 0) return place;
  }
  return -1;
}

const char *wo_option_choices_text(const char *choices, char *buf, size_t cap) {
  struct wo_view rest = wo_view_of(choices);
  buf[0] = '\0';
  for (size_t len = 0; rest.len > 0 && len + 1 < cap;) {
    const struct wo_view name = wo_view_cut(&rest, '|');
    const char *const between = len == 0 ? "" : rest.len == 0 ? " or " : ", ";
    len += (size_t)snprintf(buf + len, cap - len, "%s%.*s", between, (int)name.len, name.ptr);
  }
  return buf;
}

const char *wo_option_wants(const struct wo_option *option, char *buf, size_t cap) {
  if (option->wants) return option->wants;
  if (option->choices) return wo_option_choices_text(option->choices, buf, cap);
  if (option->kind == WO_OPTION_NUMBER) {
    snprintf(buf, cap, "a number from %.0f to %.0f", option->least, option->most);
  } else {
    snprintf(buf, cap, "a value");
  }
  return buf;
}

/* The whole value must be a number: "80x" is a typing mistake, not 80. */
static bool read_number(const struct wo_option *option, struct wo_view value, size_t *ret_number) {
  uint64_t number = 0;
  if (wo_number_u64(&value, (uint64_t)option->most, &number) != WO_OK || value.len > 0) return false;
  if ((double)number < option->least) return false;
  *ret_number = (size_t)number;
  return true;
}

static bool read_choice(const struct wo_option *option, struct wo_view value, void *place) {
  const int choice = wo_option_choice(option->choices, value);
  if (choice >= 0) memcpy(place, &choice, sizeof choice); /* enums of the program have the size of an int */
  return choice >= 0;
}

static bool read_text(struct wo_view value, struct wo_view *ret_text) {
  if (value.len > 0) *ret_text = value;
  return value.len > 0;
}

/* False if the value is not one that the option wants, or for the reason in *err. */
static bool read_value(const struct wo_option *option, struct wo_view value, void *target, struct wo_err *err) {
  void *const place = (char *)target + option->at;
  switch (option->kind) {
  case WO_OPTION_FLAG:
    *(bool *)place = true;
    return true;
  case WO_OPTION_TEXT:
    return read_text(value, place);
  case WO_OPTION_CHOICE:
    return read_choice(option, value, place);
  case WO_OPTION_NUMBER:
    return read_number(option, value, place);
  case WO_OPTION_OTHER:
    break;
  }
  return option->read(target, &(struct wo_option_value){option, value, err});
}

/* A lone dash is standard input, where something is read. */
static bool is_like_option(const struct wo_option *option, struct wo_view value) {
  if (option->path == WO_PATH_NONE || !wo_view_starts(value, "-")) return false;
  return option->path == WO_PATH_WRITTEN || value.len > 1;
}

enum wo_status wo_option_read(const struct wo_option *option, struct wo_view value, void *target, struct wo_err *err) {
  char wants[WANTS_BYTES];
  struct wo_err reason = {0};
  assert(option != NULL && target != NULL);
  if (is_like_option(option, value)) {
    const struct wo_view word = wo_view_sub(value, 0, SHOWN_MAX);
    return wo_err_set(err, WO_E_USAGE, "--%s needs %s, and '%.*s' looks like an option: write ./%.*s if it is a name",
                      option->name, wo_option_wants(option, wants, sizeof wants), WO_SHOWN(word), WO_SHOWN(word));
  }
  if (read_value(option, value, target, &reason)) return WO_OK;
  if (reason.message[0] != '\0') return wo_err_set(err, WO_E_USAGE, "%s", reason.message);
  const struct wo_view shown = wo_view_sub(value, 0, SHOWN_MAX);
  return wo_err_set(err, WO_E_USAGE, "--%s needs %s, not '%.*s'", option->name, wo_option_wants(option, wants, sizeof wants),
                    (int)shown.len, shown.len > 0 ? shown.ptr : "");
}

void wo_option_spell(const struct wo_option *option, struct wo_text *out) {
  if (option->letter != 0) wo_text_add(out, "-%c, ", option->letter);
  wo_text_add(out, "--%s", option->name);
  if (option->value) wo_text_add(out, "%s%s", option->without ? "" : " ", option->value);
}

const struct wo_option *wo_option_find(const struct wo_option *options, size_t count, struct wo_view name) {
  for (size_t i = 0; i < count; i++) {
    if (name.len > 0 && wo_view_is(name, options[i].name)) return &options[i];
  }
  return NULL;
}
