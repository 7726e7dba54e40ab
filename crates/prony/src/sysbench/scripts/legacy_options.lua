-- Options that the tests of sysbench 0.4 and 0.5 have in common; each adds its own.
local common = {
  oltp_range_size = {"Rows that a range SELECT covers", 100},
  oltp_point_selects = {"Point SELECT queries in a transaction", 10},
  oltp_simple_ranges = {"Range SELECT queries in a transaction", 1},
  oltp_sum_ranges = {"Range SELECT queries with SUM() in a transaction", 1},
  oltp_order_ranges = {"Range SELECT queries with ORDER BY in a transaction", 1},
  oltp_distinct_ranges = {"Range SELECT queries with DISTINCT in a transaction", 1},
  oltp_index_updates = {"UPDATE queries of the indexed column in a transaction", 1},
  oltp_non_index_updates = {"UPDATE queries of a column without index in a transaction", 1},
  oltp_range_selects = {"Whether there are range SELECT queries at all", true},
  oltp_auto_inc = {"Number the rows by AUTO_INCREMENT", true},
  oltp_read_only = {"Only SELECT queries", false},
  oltp_write_only = {"No SELECT queries", false},
  oltp_skip_trx = {"Leave BEGIN and COMMIT out", false},
  oltp_secondary = {"Make id a secondary index in place of the primary key", false},
  mysql_table_engine = {"Storage engine", "innodb"},
  oltp_table_size = {"Rows in each table", 10000},
  myisam_max_rows = {"MAX_ROWS of the tables", 1000000},
}

return function(options)
  for name, option in pairs(common) do options[name] = option end
  return options
end
