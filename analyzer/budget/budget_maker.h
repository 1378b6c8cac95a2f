/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that make the rows of a budget share. */
#ifndef WO_BUDGET_MAKER_H
#define WO_BUDGET_MAKER_H

#include "analyzer/budget/budget.h"

struct wo_budget_maker {
  const struct wo_budget_input *input;
  struct wo_arena *arena;
  struct wo_budget *budget;
  double weights_p;             /* parameters of this rank's part of the model */
  struct wo_interval trained_p; /* trained parameters, of these or beside them */
  struct wo_interval weight;    /* bytes of one */
  struct wo_interval gradient;  /* bytes of one */
  double expert_p;              /* of these, experts of which other ranks have others; 0: none */
  double stage;                 /* ZeRO 0 to 3 */
  double data_parallel;         /* ranks that share the states */
  bool is_partial;              /* only a part is trained */
  bool is_training;
};

/* Arithmetic of intervals of positive numbers. */
struct wo_interval wo__budget_product(struct wo_interval a, struct wo_interval b);
struct wo_interval wo__budget_over(struct wo_interval a, double divisor);

/* A number that counts at least as one. */
double wo__budget_one_or(double number);

/* A new row at the end, unknown as yet, which is there at every moment. */
struct wo_budget_row *wo__budget_add_row(struct wo_budget_maker *maker, const char *id, const char *label);

/* The share of a row's bytes that is there at each moment of a step, and a row that is there at one only. */
void wo__budget_set_shares(struct wo_budget_row *row, double forward, double loss, double layer, double first, double gradients,
                           double step);
void wo__budget_set_only(struct wo_budget_row *row, enum wo_budget_moment moment);

/* Fills a row of the model states; offloaded bytes go to the host's column. */
void wo__budget_set_state(const struct wo_budget_maker *maker, struct wo_budget_row *row, struct wo_interval parameters,
                          struct wo_interval per, double divisor, bool is_host);

/* "8499653234 x 4 B / 8". */
struct wo_view wo__budget_state_formula(const struct wo_budget_maker *maker, double parameters, struct wo_interval per,
                                        double divisor);

/* Formats: of weights and gradients, into the maker; bytes of a frozen weight, of a trained one beside 16-bit ones, of a moment,
 * of the fp32 copy of a weight. */
void wo__budget_read_formats(struct wo_budget_maker *maker);
bool wo__budget_is_16bit(double dtype);
struct wo_interval wo__budget_frozen_weight(const struct wo_budget_maker *maker);
struct wo_interval wo__budget_trained_bytes(const struct wo_budget_maker *maker);
struct wo_interval wo__budget_moment_bytes(const struct wo_budget_maker *maker);
struct wo_interval wo__budget_master_bytes(const struct wo_budget_maker *maker);

/* Of so many parameters, those of the embeddings and the output projection, which quantisers leave as they are; {0} where they
 * are not known. */
struct wo_interval wo__budget_unquantised(const struct wo_budget_maker *maker, double count);

/* Whether DeepSpeed divides the states, which has buffers of its own. */
bool wo__budget_is_deepspeed(const struct wo_budget_maker *maker);

/* Parameters of one embedding table on this rank. */
double wo__budget_table(const struct wo_budget_maker *maker);

/* Parameters of all tables of the vocabulary on this rank; 0: not known. */
double wo__budget_tables(const struct wo_budget_maker *maker);

/* Over how many ranks the states are divided from this stage on; and the weights. */
double wo__budget_divided(const struct wo_budget_maker *maker, double stage);
double wo__budget_weights_divisor(const struct wo_budget_maker *maker);

/* The rows: budget_states.c, budget_step.c, budget_buffers.c, budget_pipeline.c. */
void wo__budget_add_weights(struct wo_budget_maker *maker);
void wo__budget_add_gradients(struct wo_budget_maker *maker);
void wo__budget_add_optimizer(struct wo_budget_maker *maker);
void wo__budget_add_frozen(struct wo_budget_maker *maker);
void wo__budget_add_pipeline(struct wo_budget_maker *maker);
void wo__budget_add_step(struct wo_budget_maker *maker);
void wo__budget_add_buffers(struct wo_budget_maker *maker);
void wo__budget_add_context(struct wo_budget_maker *maker);

#endif
