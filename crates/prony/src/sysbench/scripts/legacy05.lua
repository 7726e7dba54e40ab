-- The tests of sysbench 0.5 (`--test=tests/db/oltp.lua` and its neighbours), written anew from their documented
-- statements, order and options: text protocol, unsigned numbers, one table for a whole transaction.
local name = test:match("([^/]+)$"):gsub("%.bak$", ""):gsub("%.lua$", "")
if name == "oltp_new" then name = "oltp" end

sysbench.cmdline.options = require("legacy_options") {
  oltp_tables_count = {"Number of tables", 1},
  oltp_delete_inserts = {"Pairs of DELETE and INSERT in a transaction", 1},
  oltp_create_secondary = {"Make the secondary index on k", true},
  random_points = {"Values in the IN list of select_random_points", 10},
  number_of_ranges = {"Ranges that select_random_ranges counts", 10},
  delta = {"Width of each of them", 5},
  rand_init = {"Is accepted; values are always random", false},
}
local opt = sysbench.opt
local C = string.rep("###########-", 9) .. "###########"
local PAD = string.rep("###########-", 4) .. "###########"
local f, rand = string.format, sysbench.rand

local function create_insert(con, n)
  local id = opt.oltp_auto_inc and "INTEGER UNSIGNED NOT NULL AUTO_INCREMENT" or "INTEGER UNSIGNED NOT NULL"
  local key = opt.oltp_secondary and "KEY xid" or "PRIMARY KEY"
  print(f("Creating table 'sbtest%d'...", n))
  con:query(f([[
CREATE TABLE sbtest%d (
id %s,
k INTEGER UNSIGNED DEFAULT '0' NOT NULL,
c CHAR(120) DEFAULT '' NOT NULL,
pad CHAR(60) DEFAULT '' NOT NULL,
%s (id)
) /*! ENGINE = %s MAX_ROWS = %d */]], n, id, key, opt.mysql_table_engine, opt.myisam_max_rows))
  print(f("Inserting %d records into 'sbtest%d'", opt.oltp_table_size, n))
  con:bulk_insert_init(f("INSERT INTO sbtest%d(%sk, c, pad) VALUES", n, opt.oltp_auto_inc and "" or "id, "))
  for row = 1, opt.oltp_table_size do
    con:bulk_insert_next(f("(%s%d, '%s', '%s')", opt.oltp_auto_inc and "" or row .. ", ",
                           rand.default(1, opt.oltp_table_size), rand.string(C), rand.string(PAD)))
  end
  con:bulk_insert_done()
  if opt.oltp_create_secondary then
    print(f("Creating secondary indexes on 'sbtest%d'...", n))
    con:query(f("CREATE INDEX k_%d on sbtest%d(k)", n, n))
  end
end

function prepare()
  local con = sysbench.sql.driver():connect()
  for n = 1, opt.oltp_tables_count do create_insert(con, n) end
end

function cleanup()
  local con = sysbench.sql.driver():connect()
  for n = 1, opt.oltp_tables_count do
    print(f("Dropping table 'sbtest%d'...", n))
    con:query("DROP TABLE IF EXISTS sbtest" .. n)
  end
end

function thread_init(thread)
  con = sysbench.sql.driver():connect()
  if name == "parallel_prepare" then
    for n = thread % opt.threads + 1, opt.oltp_tables_count, opt.threads do create_insert(con, n) end
  end
end

local function table_name() return "sbtest" .. rand.uniform(1, opt.oltp_tables_count) end
local function id() return rand.default(1, opt.oltp_table_size) end

local function ranges(t, count, head, tail)
  for _ = 1, count do
    local first = id()
    con:query(f("SELECT %s FROM %s WHERE id BETWEEN %d AND %d%s", head, t, first,
                first + opt.oltp_range_size - 1, tail))
  end
end

local function update_index(t) con:query(f("UPDATE %s SET k=k+1 WHERE id=%d", t, id())) end
local function update_non_index(t)
  con:query(f("UPDATE %s SET c='%s' WHERE id=%d", t, rand.string(C), id()))
end

local function oltp()
  local t = table_name()
  local locks = opt.mysql_table_engine:lower() == "myisam"
  if not opt.oltp_skip_trx then con:query(locks and f("LOCK TABLES %s WRITE", t) or "BEGIN") end
  if not opt.oltp_write_only then
    for _ = 1, opt.oltp_point_selects do con:query(f("SELECT c FROM %s WHERE id=%d", t, id())) end
    if opt.oltp_range_selects then
      ranges(t, opt.oltp_simple_ranges, "c", "")
      ranges(t, opt.oltp_sum_ranges, "SUM(K)", "")
      ranges(t, opt.oltp_order_ranges, "c", " ORDER BY c")
      ranges(t, opt.oltp_distinct_ranges, "DISTINCT c", " ORDER BY c")
    end
  end
  if not opt.oltp_read_only then
    for _ = 1, opt.oltp_index_updates do update_index(t) end
    for _ = 1, opt.oltp_non_index_updates do update_non_index(t) end
    for _ = 1, opt.oltp_delete_inserts do
      local row = id()
      con:query(f("DELETE FROM %s WHERE id=%d", t, row))
      con:query(f("INSERT INTO %s (id, k, c, pad) VALUES (%d, %d, '%s', '%s')", t, row, id(),
                  rand.string(C), rand.string(PAD)))
    end
  end
  if not opt.oltp_skip_trx then con:query(locks and "UNLOCK TABLES" or "COMMIT") end
end

local events = {
  oltp = oltp,
  oltp_simple = function() con:query(f("SELECT c FROM %s WHERE id=%d", table_name(), id())) end,
  select = function() con:query(f("SELECT pad FROM %s WHERE id=%d", table_name(), id())) end,
  update_index = function() update_index(table_name()) end,
  update_non_index = function() update_non_index(table_name()) end,
  delete = function() con:query(f("DELETE FROM %s WHERE id=%d", table_name(), id())) end,
  insert = function()
    local t, k = table_name(), id()
    if opt.oltp_auto_inc then
      con:query(f("INSERT INTO %s (k, c, pad) VALUES (%d, '%s', '%s')", t, k, rand.string(C), rand.string(PAD)))
    else
      con:query(f("INSERT INTO %s (id, k, c, pad) VALUES (%d, %d, '%s', '%s')", t, rand.unique(), k,
                  rand.string(C), rand.string(PAD)))
    end
  end,
  select_random_points = function()
    local values = {}
    for i = 1, opt.random_points do values[i] = id() end
    con:query("SELECT id, k, c, pad FROM sbtest1 WHERE k IN (" .. table.concat(values, ", ") .. ")")
  end,
  select_random_ranges = function()
    local parts = {}
    for i = 1, opt.number_of_ranges do
      local k = id()
      parts[i] = f("k BETWEEN %d AND %d", k, k + opt.delta)
    end
    con:query("SELECT count(k) FROM sbtest1 WHERE " .. table.concat(parts, " OR "))
  end,
  parallel_prepare = function() return true end,
}
event = events[name]
