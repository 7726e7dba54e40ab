-- The OLTP tests of sysbench 1.0, written anew from their documented statements, order and options. The names
-- of functions are those that scripts which `require("oltp_common")` use.
if sysbench.cmdline.command == nil then
  error("Command is required. Supported commands: prepare, prewarm, run, cleanup, help")
end

sysbench.cmdline.options = {
  table_size = {"Rows in each table", 10000},
  range_size = {"Rows that a range SELECT covers", 100},
  tables = {"Number of tables", 1},
  point_selects = {"Point SELECT queries in a transaction", 10},
  simple_ranges = {"Range SELECT queries in a transaction", 1},
  sum_ranges = {"Range SELECT queries with SUM() in a transaction", 1},
  order_ranges = {"Range SELECT queries with ORDER BY in a transaction", 1},
  distinct_ranges = {"Range SELECT queries with DISTINCT in a transaction", 1},
  index_updates = {"UPDATE queries of the indexed column in a transaction", 1},
  non_index_updates = {"UPDATE queries of a column without index in a transaction", 1},
  delete_inserts = {"Pairs of DELETE and INSERT in a transaction", 1},
  range_selects = {"Whether there are range SELECT queries at all", true},
  auto_inc = {"Number the rows by AUTO_INCREMENT; off: the client gives every id", true},
  create_table_options = {"What follows the closing bracket of CREATE TABLE", ""},
  skip_trx = {"Leave BEGIN and COMMIT out: every query commits by itself", false},
  secondary = {"Make id a secondary index in place of the primary key", false},
  create_secondary = {"Make the secondary index on k", true},
  reconnect = {"Open a new connection after so many events; 0: never", 0},
  mysql_storage_engine = {"Storage engine", "innodb"},
  pgsql_variant = {"Is accepted and has no meaning here", ""},
}

-- Calls f(table number) for the tables of this thread.
local function each_own_table(f)
  for i = sysbench.tid % sysbench.opt.threads + 1, sysbench.opt.tables, sysbench.opt.threads do f(i) end
end

function cmd_prepare()
  local drv = sysbench.sql.driver()
  local con = drv:connect()
  each_own_table(function(i) create_table(drv, con, i) end)
end

function cmd_prewarm()
  local drv = sysbench.sql.driver()
  local con = drv:connect()
  con:query("SET tmp_table_size=2*1024*1024*1024")
  con:query("SET max_heap_table_size=2*1024*1024*1024")
  each_own_table(function(i)
    local name, rows = "sbtest" .. i, sysbench.opt.table_size
    print("Prewarming table " .. name)
    con:query("ANALYZE TABLE " .. name)
    con:query(string.format(
      "SELECT AVG(id) FROM (SELECT * FROM %s FORCE KEY (PRIMARY) LIMIT %u) t", name, rows))
    con:query(string.format(
      "SELECT COUNT(*) FROM (SELECT * FROM %s WHERE k LIKE '%%0%%' LIMIT %u) t", name, rows))
  end)
end

sysbench.cmdline.commands = {
  prepare = {cmd_prepare, sysbench.cmdline.PARALLEL_COMMAND},
  prewarm = {cmd_prewarm, sysbench.cmdline.PARALLEL_COMMAND},
  warmup = {cmd_prewarm, sysbench.cmdline.PARALLEL_COMMAND},
}

local C_PATTERN = string.rep("###########-", 9) .. "###########"
local PAD_PATTERN = string.rep("###########-", 4) .. "###########"
function get_c_value() return sysbench.rand.string(C_PATTERN) end
function get_pad_value() return sysbench.rand.string(PAD_PATTERN) end

function create_table(drv, con, number)
  local opt = sysbench.opt
  local id_key = opt.secondary and "KEY xid" or "PRIMARY KEY"
  local id = opt.auto_inc and "INTEGER NOT NULL AUTO_INCREMENT" or "INTEGER NOT NULL"
  print(string.format("Creating table 'sbtest%d'...", number))
  con:query(string.format([[
CREATE TABLE sbtest%d(
  id %s,
  k INTEGER DEFAULT '0' NOT NULL,
  c CHAR(120) DEFAULT '' NOT NULL,
  pad CHAR(60) DEFAULT '' NOT NULL,
  %s (id)
) /*! ENGINE = %s */ %s]], number, id, id_key, opt.mysql_storage_engine,
    mysql_table_options or opt.create_table_options or ""))
  if opt.table_size > 0 then
    print(string.format("Inserting %d records into 'sbtest%d'", opt.table_size, number))
  end
  local columns = opt.auto_inc and "(k, c, pad)" or "(id, k, c, pad)"
  con:bulk_insert_init("INSERT INTO sbtest" .. number .. columns .. " VALUES")
  for row = 1, opt.table_size do
    local k = sysbench.rand.default(1, opt.table_size)
    if opt.auto_inc then
      con:bulk_insert_next(string.format("(%d, '%s', '%s')", k, get_c_value(), get_pad_value()))
    else
      con:bulk_insert_next(string.format("(%d, %d, '%s', '%s')", row, k, get_c_value(), get_pad_value()))
    end
  end
  con:bulk_insert_done()
  if opt.create_secondary then
    print(string.format("Creating a secondary index on 'sbtest%d'...", number))
    con:query(string.format("CREATE INDEX k_%d ON sbtest%d(k)", number, number))
  end
end

local INT, CHAR = sysbench.sql.type.INT, sysbench.sql.type.CHAR
local C, PAD = {CHAR, 120}, {CHAR, 60}
local SENTENCES = {
  point_selects = {"SELECT c FROM sbtest%u WHERE id=?", INT},
  simple_ranges = {"SELECT c FROM sbtest%u WHERE id BETWEEN ? AND ?", INT, INT},
  sum_ranges = {"SELECT SUM(k) FROM sbtest%u WHERE id BETWEEN ? AND ?", INT, INT},
  order_ranges = {"SELECT c FROM sbtest%u WHERE id BETWEEN ? AND ? ORDER BY c", INT, INT},
  distinct_ranges = {"SELECT DISTINCT c FROM sbtest%u WHERE id BETWEEN ? AND ? ORDER BY c", INT, INT},
  index_updates = {"UPDATE sbtest%u SET k=k+1 WHERE id=?", INT},
  non_index_updates = {"UPDATE sbtest%u SET c=? WHERE id=?", C, INT},
  deletes = {"DELETE FROM sbtest%u WHERE id=?", INT},
  inserts = {"INSERT INTO sbtest%u (id, k, c, pad) VALUES (?, ?, ?, ?)", INT, INT, C, PAD},
}

local function bound(text, kinds, first)
  local statement, params = con:prepare(text), {}
  for i = first, #kinds do
    local kind = kinds[i]
    params[#params + 1] =
      type(kind) == "table" and statement:bind_create(kind[1], kind[2]) or statement:bind_create(kind)
  end
  if #params > 0 then statement:bind_param(unpack(params)) end
  return statement, params
end

function prepare_begin() stmt.begin = con:prepare("BEGIN") end
function prepare_commit() stmt.commit = con:prepare("COMMIT") end
function prepare_for_each_table(key)
  local sentence = SENTENCES[key]
  for t = 1, sysbench.opt.tables do
    stmt[t][key], param[t][key] = bound(string.format(sentence[1], t), sentence, 2)
  end
end
function prepare_point_selects() prepare_for_each_table("point_selects") end
function prepare_simple_ranges() prepare_for_each_table("simple_ranges") end
function prepare_sum_ranges() prepare_for_each_table("sum_ranges") end
function prepare_order_ranges() prepare_for_each_table("order_ranges") end
function prepare_distinct_ranges() prepare_for_each_table("distinct_ranges") end
function prepare_index_updates() prepare_for_each_table("index_updates") end
function prepare_non_index_updates() prepare_for_each_table("non_index_updates") end
function prepare_delete_inserts()
  prepare_for_each_table("deletes")
  prepare_for_each_table("inserts")
end

local function no_statements()
  stmt, param = {}, {}
  for t = 1, sysbench.opt.tables do stmt[t], param[t] = {}, {} end
end

function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
  no_statements()
  prepare_statements()
end

function close_statements()
  for t = 1, sysbench.opt.tables do
    for _, statement in pairs(stmt[t]) do statement:close() end
  end
  if stmt.begin then stmt.begin:close() end
  if stmt.commit then stmt.commit:close() end
end

function thread_done()
  close_statements()
  con:disconnect()
end

function cleanup()
  local drv = sysbench.sql.driver()
  local con = drv:connect()
  for i = 1, sysbench.opt.tables do
    print(string.format("Dropping table 'sbtest%d'...", i))
    con:query("DROP TABLE IF EXISTS sbtest" .. i)
  end
end

local uniform, default = sysbench.rand.uniform, sysbench.rand.default
local function a_table() return uniform(1, sysbench.opt.tables) end
local function an_id() return default(1, sysbench.opt.table_size) end

function begin() stmt.begin:execute() end
function commit() stmt.commit:execute() end

function execute_point_selects()
  local t = a_table()
  for _ = 1, sysbench.opt.point_selects do
    param[t].point_selects[1]:set(an_id())
    stmt[t].point_selects:execute()
  end
end

local function execute_range(key)
  local t = a_table()
  for _ = 1, sysbench.opt[key] do
    local id = an_id()
    param[t][key][1]:set(id)
    param[t][key][2]:set(id + sysbench.opt.range_size - 1)
    stmt[t][key]:execute()
  end
end
function execute_simple_ranges() execute_range("simple_ranges") end
function execute_sum_ranges() execute_range("sum_ranges") end
function execute_order_ranges() execute_range("order_ranges") end
function execute_distinct_ranges() execute_range("distinct_ranges") end

function execute_index_updates()
  local t = a_table()
  for _ = 1, sysbench.opt.index_updates do
    param[t].index_updates[1]:set(an_id())
    stmt[t].index_updates:execute()
  end
end

function execute_non_index_updates()
  local t = a_table()
  for _ = 1, sysbench.opt.non_index_updates do
    param[t].non_index_updates[1]:set_rand_str(C_PATTERN)
    param[t].non_index_updates[2]:set(an_id())
    stmt[t].non_index_updates:execute()
  end
end

function execute_delete_inserts()
  local t = a_table()
  for _ = 1, sysbench.opt.delete_inserts do
    local id, k = an_id(), an_id()
    param[t].deletes[1]:set(id)
    stmt[t].deletes:execute()
    local p = param[t].inserts
    p[1]:set(id)
    p[2]:set(k)
    p[3]:set_rand_str(C_PATTERN)
    p[4]:set_rand_str(PAD_PATTERN)
    stmt[t].inserts:execute()
  end
end

local RANGES = {"simple_ranges", "sum_ranges", "order_ranges", "distinct_ranges"}
function prepare_ranges()
  for _, key in ipairs(RANGES) do prepare_for_each_table(key) end
end
function execute_ranges()
  for _, key in ipairs(RANGES) do execute_range(key) end
end

-- An ignored error leaves its transaction open; the next BEGIN commits what it has done, as in sysbench.
local events = 0
function check_reconnect()
  if sysbench.opt.reconnect > 0 then
    events = events + 1
    if events % sysbench.opt.reconnect == 0 then
      close_statements()
      con:reconnect()
      no_statements()
      prepare_statements()
    end
  end
end
