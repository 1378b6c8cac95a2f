/* A library of which no name needs a meaning. */
typedef int wo_nothing;
