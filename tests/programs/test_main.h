/* SPDX-License-Identifier: Apache-2.0 */
/* Comes before every test_X.c: its main is called test_X_main (the name `main` is defined away for that file,
 * tests/CMakeLists.txt), so that the tests of a folder are one program. This gives it a prototype. */
#ifndef WO_TEST_MAIN_H
#define WO_TEST_MAIN_H

#ifdef WO_TEST_ARGUMENTS
int main(int argc, char **argv);
#else
int main(void);
#endif

#endif
