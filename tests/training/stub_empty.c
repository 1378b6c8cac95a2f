/* SPDX-License-Identifier: Apache-2.0 */
/* A library of which no name needs a meaning. */
typedef int wo_nothing;
