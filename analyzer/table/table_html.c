#include "analyzer/table/table_internal.h"
enum wo_status wo__write_html(struct wo__table *table) {
  (void)table;
  return WO_OK;
}
