/* SPDX-License-Identifier: Apache-2.0 */
/* Signals by name, by words, by number and by exit code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parsers/event/signal.h"

static void test_texts(void **state) {
  (void)state;
  static const struct {
    const char *text;
    enum wo_signal signal;
  } rows[] = {
      {"Segmentation fault (core dumped)", WO_SIGNAL_SEGV},
      {"Killed", WO_SIGNAL_KILL},
      {"SIGTERM", WO_SIGNAL_TERM},
      {"HUP", WO_SIGNAL_HUP},
      {"9", WO_SIGNAL_KILL},
      {"5", WO_SIGNAL_NONE},  /* SIGTRAP */
      {"99", WO_SIGNAL_NONE}, /* no signal has this number */
      {"9 lives", WO_SIGNAL_NONE},
      {"", WO_SIGNAL_NONE},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    assert_int_equal(wo_signal_of_text(wo_view_of(rows[i].text)), rows[i].signal);
}

static void test_codes(void **state) {
  (void)state;
  static const struct {
    double code;
    enum wo_signal signal;
  } rows[] = {
      {-11, WO_SIGNAL_SEGV},   {139, WO_SIGNAL_SEGV},         {267, WO_SIGNAL_SEGV},          {137, WO_SIGNAL_KILL},
      {-15, WO_SIGNAL_TERM},   {-1073741819, WO_SIGNAL_SEGV}, {3221225477.0, WO_SIGNAL_SEGV}, {0, WO_SIGNAL_NONE},
      {1, WO_SIGNAL_NONE},     {128, WO_SIGNAL_NONE},         {255, WO_SIGNAL_NONE},          {256, WO_SIGNAL_NONE},
      {1e300, WO_SIGNAL_NONE}, {-1e300, WO_SIGNAL_NONE},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) assert_int_equal(wo_signal_of_code(rows[i].code), rows[i].signal);
}

static void test_events(void **state) {
  (void)state;
  struct wo_event_store store;
  wo_event_store_init(&store);
  struct wo_event *const event = wo_event_add(&store, WO_KIND_TASK_EXIT, (struct wo_span){.line = 1}, WO_VIEW("text"));
  assert_int_equal(wo_signal_of(event), WO_SIGNAL_NONE);
  wo_event_set_exact(&store, event, WO_FIELD_EXIT_CODE, 137);
  assert_int_equal(wo_signal_of(event), WO_SIGNAL_KILL);
  wo_event_set_text(&store, event, WO_FIELD_SIGNAL, WO_VIEW("Bus error"));
  assert_int_equal(wo_signal_of(event), WO_SIGNAL_BUS);
  wo_event_store_done(&store);
}

static void test_names(void **state) {
  (void)state;
  assert_string_equal(wo_signal_name(WO_SIGNAL_SEGV), "SIGSEGV");
  assert_null(wo_signal_name(WO_SIGNAL_NONE));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_texts),
      cmocka_unit_test(test_codes),
      cmocka_unit_test(test_events),
      cmocka_unit_test(test_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
