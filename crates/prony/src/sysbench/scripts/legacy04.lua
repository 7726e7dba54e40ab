-- The test `oltp` of sysbench 0.4, written anew from its documented modes and options.
sysbench.cmdline.options = require("legacy_options") {
  oltp_test_mode = {"simple, complex, nontrx or sp", "complex"},
  oltp_reconnect_mode = {"When connections are opened anew: session, transaction, query or random", "session"},
  oltp_sp_name = {"Procedure that the mode sp calls", ""},
  oltp_nontrx_mode = {"select, update_key, update_nokey, insert or delete", "select"},
  oltp_connect_delay = {"Microseconds to wait after connecting", 10000},
  oltp_user_delay_min = {"Shortest think time after a query, microseconds", 0},
  oltp_user_delay_max = {"Longest think time after a query, microseconds", 0},
  oltp_table_name = {"Name of the table", "sbtest"},
  oltp_dist_type = {"uniform, gaussian or special", "special"},
  oltp_dist_iter = {"As --rand-spec-iter", 12},
  oltp_dist_pct = {"As --rand-spec-pct", 1},
  oltp_dist_res = {"As --rand-spec-res", 75},
  oltp_point_select_mysql_handler = {"Point SELECT queries by HANDLER", false},
  oltp_point_select_all_cols = {"Point SELECT queries of all columns", false},
}
local opt, f, rand = sysbench.opt, string.format, sysbench.rand
local TYPE = sysbench.sql.type
local PAD = "qqqqqqqqqqwwwwwwwwwweeeeeeeeeerrrrrrrrrrtttttttttt"
local PAD_INSERTED = "aaaaaaaaaaffffffffffrrrrrrrrrreeeeeeeeeeyyyyyyyyyy"

local function connect()
  con = sysbench.sql.driver():connect()
  statements = {}
end

function prepare()
  local con = sysbench.sql.driver():connect()
  local name, nokey = opt.oltp_table_name, opt.oltp_nontrx_mode == "update_nokey"
  print(f("Creating table '%s'...", name))
  con:query(f("CREATE TABLE %s (id int unsigned NOT NULL%s, k int unsigned DEFAULT '0' NOT NULL, " ..
              "c char(120) DEFAULT '' NOT NULL, pad char(60) DEFAULT '' NOT NULL, %s (id)%s) " ..
              "/*! ENGINE=%s MAX_ROWS=%d */", name, opt.oltp_auto_inc and " AUTO_INCREMENT" or "",
              opt.oltp_secondary and "KEY xid" or "PRIMARY KEY", nokey and "" or ", KEY k (k)",
              opt.mysql_table_engine, opt.myisam_max_rows))
  print(f("Creating %d records in table '%s'...", opt.oltp_table_size, name))
  con:bulk_insert_init(f("INSERT INTO %s(%sk, c, pad) VALUES", name, opt.oltp_auto_inc and "" or "id, "))
  for row = 1, opt.oltp_table_size do
    con:bulk_insert_next(f("(%s0,' ','%s')", opt.oltp_auto_inc and "" or row .. ",", PAD))
  end
  con:bulk_insert_done()
end

function cleanup()
  local con = sysbench.sql.driver():connect()
  print(f("Dropping table '%s'...", opt.oltp_table_name))
  con:query("DROP TABLE IF EXISTS " .. opt.oltp_table_name)
  print("Done.")
end

local draw = rand[opt.oltp_dist_type or "special"]
local function id() return draw(1, opt.oltp_table_size) end

function thread_init()
  draw = rand[opt.oltp_dist_type]
  if not draw then error("--oltp-dist-type takes uniform, gaussian or special") end
  connect()
  if opt.oltp_point_select_mysql_handler then con:query(f("HANDLER %s OPEN", opt.oltp_table_name)) end
end

local function pause()
  local least, most = opt.oltp_user_delay_min, opt.oltp_user_delay_max
  if most > 0 then require("ffi").C.usleep(rand.uniform(least, math.max(least, most))) end
end

-- Executes a statement, prepared once for each connection, with whole numbers and texts.
local function execute(text, ...)
  local known = statements[text]
  if not known then
    local statement, params = con:prepare((text:gsub("@", opt.oltp_table_name))), {}
    for i = 1, select("#", ...) do
      local is_text = type((select(i, ...))) == "string"
      params[i] = statement:bind_create(is_text and TYPE.CHAR or TYPE.INT, 120)
    end
    if #params > 0 then statement:bind_param(unpack(params)) end
    known = {statement, params}
    statements[text] = known
  end
  for i = 1, select("#", ...) do known[2][i]:set((select(i, ...))) end
  known[1]:execute()
  pause()
  if opt.oltp_reconnect_mode == "query" or opt.oltp_reconnect_mode == "random" and rand.uniform(0, 9) == 0 then
    con:disconnect()
    connect()
  end
end

local function point_select()
  if opt.oltp_point_select_mysql_handler then
    con:query(f("HANDLER %s READ `PRIMARY` = (%d)", opt.oltp_table_name, id()))
    return pause()
  end
  execute(opt.oltp_point_select_all_cols and "SELECT id, k, c, pad FROM @ WHERE id=?"
          or "SELECT c FROM @ WHERE id=?", id())
end

local function ranges(count, head, tail, last)
  for _ = 1, count do
    local first = id()
    execute("SELECT " .. head .. " FROM @ WHERE id BETWEEN ? AND ?" .. tail, first, first + last)
  end
end

local function complex()
  local locks = opt.mysql_table_engine:lower() == "myisam"
  local one_connection = opt.oltp_reconnect_mode == "session" or opt.oltp_reconnect_mode == "transaction"
  local trx = not opt.oltp_skip_trx and one_connection
  if trx then
    con:query(locks and f("LOCK TABLES %s %s", opt.oltp_table_name, opt.oltp_read_only and "READ" or "WRITE")
              or "BEGIN")
  end
  if not opt.oltp_write_only then
    for _ = 1, opt.oltp_point_selects do point_select() end
    if opt.oltp_range_selects then
      local size = opt.oltp_range_size
      ranges(opt.oltp_simple_ranges, "c", "", size - 1)
      ranges(opt.oltp_sum_ranges, "SUM(k)", "", size - 1)
      ranges(opt.oltp_order_ranges, "c", " ORDER BY c", size - 1)
      ranges(opt.oltp_distinct_ranges, "DISTINCT c", " ORDER BY c", size)
    end
  end
  if not opt.oltp_read_only then
    for _ = 1, opt.oltp_index_updates do execute("UPDATE @ SET k=k+1 WHERE id=?", id()) end
    for _ = 1, opt.oltp_non_index_updates do
      execute("UPDATE @ SET c=? WHERE id=?", rand.string("##########-##########-##########"), id())
    end
    local row = id()
    execute("DELETE FROM @ WHERE id=?", row)
    execute("INSERT INTO @ VALUES(?,0,' ','" .. PAD_INSERTED .. "')", row)
  end
  if trx then con:query(locks and "UNLOCK TABLES" or "COMMIT") end
end

local nontrx = {
  select = function() execute("SELECT pad FROM @ WHERE id=?", id()) end,
  update_key = function() execute("UPDATE @ SET k=k+1 WHERE id=?", id()) end,
  -- adds to the same integer, which `prepare` with this mode leaves without an index
  update_nokey = function() execute("UPDATE @ SET k=k+1 WHERE id=?", id()) end,
  insert = function()
    if opt.oltp_auto_inc then
      execute("INSERT INTO @(k, c, pad) VALUES(?,' ','" .. PAD .. "')", id())
    else
      execute("INSERT INTO @ VALUES(?,0,' ','" .. PAD .. "')", rand.unique())
    end
  end,
  delete = function() execute("DELETE FROM @ WHERE id=?", id()) end,
}

local modes = {
  complex = complex,
  simple = point_select,
  nontrx = function()
    local what = nontrx[opt.oltp_nontrx_mode]
    if not what then error("--oltp-nontrx-mode takes select, update_key, update_nokey, insert or delete", 0) end
    what()
  end,
  sp = function() con:query("CALL " .. opt.oltp_sp_name) end,
}

function event()
  local mode = modes[opt.oltp_test_mode]
  if not mode then error("--oltp-test-mode takes simple, complex, nontrx or sp", 0) end
  mode()
  if opt.oltp_reconnect_mode == "transaction" then
    con:disconnect()
    connect()
  end
end
