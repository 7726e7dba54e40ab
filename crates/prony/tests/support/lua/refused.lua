-- What becomes of errors: where they occur, how, and what the hooks say to them.
sysbench.cmdline.options = {
  how = { "How an error comes about", "query" },
  where = { "Where", "event" },
  says = { "What the hook returns", "true" },
}
local events = 0

local function refused(con)
  local how = sysbench.opt.how
  if how == "query" then
    con:query("INSERT INTO refused VALUES (1)")
  elseif how == "row" then
    con:query_row("SELECT nothing FROM refused")
  elseif how == "prepared" then
    local statement = con:prepare("INSERT INTO refused VALUES (?)")
    local id = statement:bind_create(sysbench.sql.type.INT)
    statement:bind_param(id)
    id:set(1)
    statement:execute()
  elseif how == "prepare" then
    con:prepare("SELECT nothing FROM refused")
  elseif how == "bulk" then
    con:bulk_insert_init("INSERT INTO refused VALUES")
    for _ = 1, 2 do con:bulk_insert_next("(1)") end
    con:bulk_insert_done()
  elseif how == "lock" then
    con:query("SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'dead'")
  elseif how == "own" then
    error({ errcode = sysbench.error.RESTART_EVENT })
  elseif how == "text" then
    error("mine")
  end
end

local function shown(e)
  local words = {}
  for key, value in pairs(e) do
    words[#words + 1] = key .. "=" .. tostring(key == "connection" and value == con or value)
  end
  table.sort(words)
  return table.concat(words, "; ")
end

function prepare()
  local con = sysbench.sql.driver():connect()
  con:query("DROP TABLE IF EXISTS refused")
  con:query("CREATE TABLE refused (id INT PRIMARY KEY)")
  con:query("INSERT INTO refused VALUES (1)")
  if sysbench.opt.where == "prepare" then refused(con) end
end

function thread_init()
  con = sysbench.sql.driver():connect()
  if sysbench.opt.where == "thread_init" then refused(con) end
end

function event()
  events = events + 1
  print("event " .. events)
  if sysbench.opt.where == "event" and events < 4 and events % 2 == 1 then refused(con) end
  con:query("SELECT 1")
end

function thread_done()
  print("after " .. events)
  if sysbench.opt.where == "thread_done" then refused(con) end
end

function done()
  print("rows: " .. sysbench.sql.driver():connect():query_row("SELECT COUNT(*) FROM refused"))
  if sysbench.opt.where == "done" then error("the end") end
end

function sysbench.hooks.sql_error_ignorable(e)
  print("may it be? " .. shown(e))
  local says = sysbench.opt.says
  if says == "error" then error("the hook's own") end
  return ({ ["true"] = true, ["false"] = false, zero = 0, text = "x" })[says]
end

function sysbench.hooks.before_restart_event(e) print("again: " .. shown(e)) end
