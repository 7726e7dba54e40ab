-- What a script finds when it runs: the API of sysbench 1.0 and the globals of 0.5, written from their
-- documented behaviour. `core` is what the program gives; whatever waits for the server yields.
local core = ...
local WAIT = core.WAIT
local yield, resume = coroutine.yield, coroutine.resume
local format, concat = string.format, table.concat

local function wait() return yield(WAIT) end

-- A script's own coroutines hand waits through to the outside.
local function pass(co, ok, first, ...)
  if ok and first == WAIT then return pass(co, resume(co, wait())) end
  return ok, first, ...
end
function coroutine.resume(co, ...) return pass(co, resume(co, ...)) end
local function raise(ok, ...)
  if not ok then error((...), 0) end
  return ...
end
function coroutine.wrap(f)
  local co = coroutine.create(f)
  return function(...) return raise(pass(co, resume(co, ...))) end
end

function print(...)
  local words = {}
  for i = 1, select('#', ...) do words[i] = tostring((select(i, ...))) end
  core.out(concat(words, '\t') .. '\n')
end
io.stdout:setvbuf('no')
local source, of_stdin = nil, loadfile
function loadfile(name)
  if not name then return of_stdin() end
  local text = source(name)
  if not text then return nil, 'cannot open ' .. name end
  return loadstring(text, '@' .. name)
end
function dofile(name) return assert(loadfile(name))() end

local named = function(name) return function() return name end end
local function class(name)
  local methods = {}
  return methods, { __index = methods, __tostring = named(name), __metatable = name }
end

sysbench = {
  tid = core.tid, version = '1.0.20', version_string = 'sysbench 1.0.20', opt = {}, hooks = {},
  error = { NONE = 0, RESTART_EVENT = 1 },
  cmdline = {
    ARG_NULL = 0, ARG_BOOL = 1, ARG_INT = 2, ARG_SIZE = 3, ARG_DOUBLE = 4, ARG_STRING = 5, ARG_LIST = 6,
    ARG_FILE = 7, PARALLEL_COMMAND = true, argv = core.argv, command = core.command,
    script_path = core.script_path,
  },
  rand = {
    default = core.rand_default, uniform = core.rand_uniform, gaussian = core.rand_gaussian,
    special = core.rand_special, pareto = core.rand_pareto, zipfian = core.rand_zipfian,
    unique = core.rand_unique, string = core.rand_string, varstring = core.rand_varstring,
    uniform_double = core.rand_double,
  },
  sql = {
    type = { NONE = 0, TINYINT = 1, SMALLINT = 2, INT = 3, BIGINT = 4, FLOAT = 5, DOUBLE = 6, TIME = 7, DATE = 8,
             DATETIME = 9, TIMESTAMP = 10, CHAR = 11, VARCHAR = 12 },
    error = { NONE = 0, IGNORABLE = 1, FATAL = 2 },
  },
}
local types, RESTART = sysbench.sql.type, sysbench.error.RESTART_EVENT

-- sql --------------------------------------------------------------------------------------------------
local driver, driver_meta = class('<sql_driver>')
local connection, connection_meta = class('<sql_connection>')
local statement, statement_meta = class('<sql_statement>')
local parameter, parameter_meta = class('<sql_param>')
local result, result_meta = class('<sql_result>')

function sysbench.sql.driver(name)
  name = name or core.driver
  if name ~= 'mysql' then
    core.log(0, format("invalid database driver name: '%s'", name))
    error('failed to initialize the DB driver', 2)
  end
  return setmetatable({}, driver_meta)
end
function driver:name() return 'mysql' end

local function opened(con)
  local link = core.open(con.link)
  if wait() ~= 0 then
    core.close(link)
    con.link = nil
    return false
  end
  con.link, con.rs = link, nil
  return true
end

function driver:connect()
  local con = setmetatable({ error = 0, sql_errno = 0, sql_state = '', sql_errmsg = '' }, connection_meta)
  if not opened(con) then error('connection creation failed', 2) end
  return con
end

local function alert(text) core.log(1, text) end

-- What became of a command: 0 it went well, 1 an error that is to be ignored, 2 any other.
local function judge(con, query, code, level)
  if code == 0 then
    con.error, con.sql_errno = 0, 0
    return
  end
  con.error = code
  con.sql_errno, con.sql_state, con.sql_errmsg = core.error(con.link)
  local e = { errcode = RESTART, connection = con, query = query, sql_errno = con.sql_errno,
              sql_state = con.sql_state, sql_errmsg = con.sql_errmsg }
  if code == 1 then error(e, 0) end
  local hook = sysbench.hooks.sql_error_ignorable
  if hook then
    e.errcode = nil
    if hook(e) then
      e.errcode = RESTART
      error(e, 0)
    end
  end
  error(format("SQL error, errno = %d, state = '%s': %s", con.sql_errno, con.sql_state, con.sql_errmsg),
        level + 1)
end

local function results(con, rows, columns)
  local rs = con.rs
  if not rs then
    rs = setmetatable({ con = con }, result_meta)
    con.rs = rs
  end
  rs.nrows, rs.nfields = rows, columns
  return rs
end

function connection:query(sql)
  if not self.link then
    alert('attempt to use an already closed connection')
    error('SQL API error', 2)
  end
  core.query(self.link, sql)
  local code, rows, columns = wait()
  if code ~= 0 then judge(self, sql, code, 2) end
  return results(self, rows, columns)
end

function connection:query_row(sql)
  if not self.link then
    alert('attempt to use an already closed connection')
    error('SQL API error', 2)
  end
  core.query(self.link, sql)
  local code = wait()
  if code ~= 0 then judge(self, sql, code, 2) end
  return core.row(self.link)
end

function connection:prepare(sql)
  if not self.link then
    alert('attempt to use an already closed connection')
    error('SQL API error', 2)
  end
  local id = core.prepare(self.link, sql)
  if not id then
    local code
    code, id = wait()
    if code ~= 0 then
      self.error = code
      self.sql_errno, self.sql_state, self.sql_errmsg = core.error(self.link)
      error('SQL API error', 2)
    end
  end
  return setmetatable({ con = self, id = id, link = self.link }, statement_meta)
end

function connection:disconnect()
  if not self.link then
    alert('attempt to use an already closed connection')
    return
  end
  core.close(self.link)
  self.link = nil
end

function connection:reconnect()
  core.count(5)
  if not opened(self) then error('connection creation failed', 2) end
  return 0
end

function connection:bulk_insert_init(head) core.bulk_init(self.link, head) end
local function bulk_send(con, name)
  if not core.bulk_send(con.link) then return end
  local code = wait()
  con.error, con.sql_errno = code, 0
  if code ~= 0 then
    con.sql_errno, con.sql_state, con.sql_errmsg = core.error(con.link)
    -- neither the option for errors nor the script's hook has a say, as in sysbench
    error(name .. '() failed', 3)
  end
end
function connection:bulk_insert_next(row)
  if core.bulk_next(self.link, row) then
    bulk_send(self, 'db_bulk_insert_next')
    core.bulk_next(self.link, row)
  end
end
function connection:bulk_insert_done() bulk_send(self, 'db_bulk_insert_done') end
function connection:more_results() return false end
function connection:next_result() return nil end

local KINDS = { [types.TINYINT] = 'i', [types.SMALLINT] = 'i', [types.INT] = 'i', [types.BIGINT] = 'i',
                [types.FLOAT] = 'd', [types.DOUBLE] = 'd', [types.CHAR] = 's', [types.VARCHAR] = 's' }

function statement:bind_create(kind, size)
  local letter = KINDS[kind]
  if not letter then error('Unsupported argument type: ' .. tostring(kind), 2) end
  return setmetatable({ kind = letter, size = size }, parameter_meta)
end

function parameter:set(value)
  if self.kind == 's' and value ~= nil then
    value = tostring(value)
    if self.size and #value > self.size then value = value:sub(1, self.size) end
  end
  self.value = value
end
function parameter:set_rand_str(pattern) self:set(core.rand_string(pattern)) end

function statement:bind_param(...)
  self.params, self.count = { ... }, select('#', ...)
  local kinds = {}
  for i, param in ipairs(self.params) do kinds[i] = param.kind end
  core.bind(self.link, self.id, concat(kinds))
end

local function values(params, i, n)
  if i == n then return params[i].value end
  return params[i].value, values(params, i + 1, n)
end

local function executed(self, level, ...)
  local con = self.con
  if con.link ~= self.link or not self.id then error('SQL API error', level + 1) end
  core.execute(self.link, self.id, ...)
  local code, rows, columns = wait()
  if code ~= 0 then judge(con, '<prepared statement>', code, level + 1) end
  return results(con, rows, columns)
end

function statement:execute()
  local params, n = self.params, self.count or 0
  if n == 0 then return executed(self, 2) end
  if n == 1 then return executed(self, 2, params[1].value) end
  if n == 2 then return executed(self, 2, params[1].value, params[2].value) end
  if n <= 60 then return executed(self, 2, values(params, 1, n)) end
  local all = {}
  for i = 1, n do all[i] = params[i].value end
  return executed(self, 2, unpack(all, 1, n))
end

function statement:close()
  if self.id and self.con.link == self.link then core.close_statement(self.link, self.id) end
  self.id = nil
end

function result:fetch_row()
  if self.nfields == 0 then
    alert('attempt to fetch row from an empty result set')
    return nil
  end
  return core.fetch(self.con.link)
end
function result:free() end

-- numbers ----------------------------------------------------------------------------------------------
local ok, ffi = pcall(require, 'ffi')
if ok then
  sysbench.rand.uniform_uint64 = function()
    local high, low = core.rand_words()
    return ffi.cast('uint64_t', high) * 4294967296ULL + ffi.cast('uint64_t', low)
  end
  -- Functions that wait would hold all connections of a thread up, and sysbench's own are not in this program.
  local real = ffi.C
  local own = {
    usleep = function(us) core.sleep(tonumber(us)); wait(); return 0 end,
    sleep = function(s) core.sleep(tonumber(s) * 1e6); wait(); return 0 end,
    sb_event_start = function() core.event_start() end,
    sb_event_stop = function() core.event_stop() end,
    sb_more_events = function() return sysbench.more_events() end,
    sb_counter_inc = function(_, kind) core.count(tonumber(kind)) end,
    sb_counter_add = function(_, kind, n) for _ = 1, tonumber(n) do core.count(tonumber(kind)) end end,
    sb_rand_default = core.rand_default, sb_rand_uniform = core.rand_uniform,
    sb_rand_gaussian = core.rand_gaussian, sb_rand_special = core.rand_special,
    sb_rand_pareto = core.rand_pareto, sb_rand_unique = core.rand_unique,
    sb_rand_uniform_double = core.rand_double,
    SB_CNT_OTHER = 0, SB_CNT_READ = 1, SB_CNT_WRITE = 2, SB_CNT_EVENT = 3, SB_CNT_ERROR = 4,
    SB_CNT_RECONNECT = 5,
  }
  ffi.C = setmetatable({}, {
    __index = function(_, key)
      local mine = own[key]
      if mine ~= nil then return mine end
      return real[key]
    end,
    __newindex = function(_, key, value) real[key] = value end,
  })
end

-- events -----------------------------------------------------------------------------------------------
function sysbench.more_events()
  local how = core.more_events()
  if how == 'wait' then return wait() end
  return how
end
sysbench.event_start, sysbench.event_stop = core.event_start, core.event_stop

function thread_run(tid)
  local hooks, event = sysbench.hooks, event
  while sysbench.more_events() do
    core.event_start()
    local done, what
    repeat
      done, what = pcall(event, tid)
      local again = not done and type(what) == 'table' and what.errcode == RESTART
      if again then
        if hooks.before_restart_event then hooks.before_restart_event(what) end
        if core.stopped() then return end
      elseif not done then
        error(what, 0)
      end
    until done
    core.event_stop()
    if what then return end
  end
end
sysbench.event_loop = thread_run
local own_loop = thread_run

-- reports ----------------------------------------------------------------------------------------------
local function per_second(stat)
  local s = stat.time_interval
  return s, stat.events / s, (stat.reads + stat.writes + stat.other) / s
end
function sysbench.report_default(stat)
  local s, tps, qps = per_second(stat)
  print(format('[ %.0fs ] thds: %d tps: %4.2f qps: %4.2f (r/w/o: %4.2f/%4.2f/%4.2f) lat (ms,%d%%): %4.2f ' ..
               'err/s %4.2f reconn/s: %4.2f', stat.time_total, stat.threads_running, tps, qps, stat.reads / s,
               stat.writes / s, stat.other / s, sysbench.opt.percentile, stat.latency_pct * 1000,
               stat.errors / s, stat.reconnects / s))
end
function sysbench.report_csv(stat)
  local s, tps, qps = per_second(stat)
  print(format('%.0f,%d,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f', stat.time_total,
               stat.threads_running, tps, qps, stat.reads / s, stat.writes / s, stat.other / s,
               stat.latency_pct * 1000, stat.errors / s, stat.reconnects / s))
end
local begun = false
function sysbench.report_json(stat)
  local s, tps, qps = per_second(stat)
  if not begun then
    begun = true
    core.out('[\n')
    core.at_end('\n]\n')
  else
    core.out(',\n')
  end
  core.out(format([[
  {
    "time": %4.0f,
    "threads": %d,
    "tps": %4.2f,
    "qps": {
      "total": %4.2f,
      "reads": %4.2f,
      "writes": %4.2f,
      "other": %4.2f
    },
    "latency": %4.2f,
    "errors": %4.2f,
    "reconnects": %4.2f
  }]], stat.time_total, stat.threads_running, tps, qps, stat.reads / s, stat.writes / s, stat.other / s,
    stat.latency_pct * 1000, stat.errors / s, stat.reconnects / s))
end

local histogram, histogram_meta = class('<sb_histogram>')
sysbench.histogram = {
  new = function(size, low, high)
    return setmetatable({ id = core.histogram_new(size, low, high) }, histogram_meta)
  end,
}
function histogram:update(value) core.histogram_update(self.id, value) end
function histogram:print() core.histogram_print(self.id) end

-- 0.5 --------------------------------------------------------------------------------------------------
thread_id, db_driver = core.tid, core.driver
sb_rand, sb_rand_uniform, sb_rand_gaussian = core.rand_default, core.rand_uniform, core.rand_gaussian
sb_rand_special, sb_rand_pareto, sb_rand_str = core.rand_special, core.rand_pareto, core.rand_string
sb_rand_uniq = core.rand_unique
mysql_table_engine, myisam_max_rows = 'innodb', 1000000
function sb_rnd() return core.rand_uniform(0, 1073741823) end
DB_ERROR_NONE, DB_ERROR_DEADLOCK, DB_ERROR_FAILED = 0, RESTART, 2
DB_ERROR_RESTART_TRANSACTION = RESTART

local own
function db_connect()
  if own and own.link then own:disconnect() end
  own = sysbench.sql.driver():connect()
end
local function con()
  if not own or not own.link then db_connect() end
  return own
end
function db_disconnect() if own and own.link then own:disconnect() end end
function db_query(sql) return con():query(sql) end
function db_bulk_insert_init(head) con():bulk_insert_init(head) end
function db_bulk_insert_next(row) con():bulk_insert_next(row) end
function db_bulk_insert_done() con():bulk_insert_done() end
function db_prepare(sql) return con():prepare(sql) end
function db_bind_param(stmt, values)
  local kinds = {}
  for i, value in ipairs(values) do
    kinds[i] = type(value) == 'string' and 's' or value % 1 == 0 and 'i' or 'd'
  end
  core.bind(stmt.link, stmt.id, concat(kinds))
  stmt.table = values
end
function db_bind_result() end
function db_execute(stmt)
  if stmt.table then return executed(stmt, 2, unpack(stmt.table)) end
  return stmt:execute()
end
function db_store_results() end
function db_free_results() end
function db_close(stmt) stmt:close() end

-- The program calls what is returned here, each in a coroutine.
return {
  -- Runs a chunk or a function; the message of what went wrong, or nothing.
  call = function(f, ...)
    local done, what = pcall(f, ...)
    if done then return nil, what end
    if type(what) == 'table' and what.errcode == RESTART then
      return 'an ignored error outside of an event: ' .. tostring(what.sql_errmsg)
    end
    local is_said = type(what) == 'string' or type(what) == 'number'
    return is_said and tostring(what) or '(not a string)'
  end,
  set_source = function(f) source = f end,
  command = function(name)
    local command = sysbench.cmdline.commands and sysbench.cmdline.commands[name]
    if command then return command[1], command[2] and true or false, true end
    local f = rawget(_G, name)
    if f == own_loop then return nil, false, false end
    return type(f) == 'function' and f or nil, false, false
  end,
}
