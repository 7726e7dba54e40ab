#!/usr/bin/env sysbench
-- A script of the kind that users write, with as much of sysbench's API as it can use: a wholesaler's
-- transactions.
require("store_common")
local deals = require("store_deals")
local events = 0

function thread_init()
  con = connected()
  prepare_statements()
end

function event(tid)
  local kind = sysbench.opt.kinds[sysbench.rand.uniform(1, #sysbench.opt.kinds)]
  events = events + 1
  if sysbench.opt.refused > 0 and events % sysbench.opt.refused == 0 then
    -- the depot is there: an error of the server which the hook below lets pass
    con:query("BEGIN")
    con:query("INSERT INTO depot1 (id) VALUES (1)")
  end
  deals[kind](sysbench.rand.uniform(1, sysbench.opt.sets), sysbench.rand.uniform(1, sysbench.opt.depots),
              sysbench.rand.uniform(1, DISTRICTS))
  think()
end

function sysbench.hooks.sql_error_ignorable(e)
  assert(e.connection == con and e.sql_state == "23000" and e.query:find("INSERT"))
  assert(e.sql_errmsg:find("Duplicate"))
  return e.sql_errno == 1062
end

local again = 0
function sysbench.hooks.before_restart_event(e)
  assert(e.why == "no such goods" or e.sql_errno == 1062 or e.sql_errno == 1213 or e.sql_errno == 1205)
  again = again + 1
  con:query("ROLLBACK")
end

function thread_done()
  close_statements()
  con:disconnect()
  print(string.format("thread %d: begun again %d", sysbench.tid, again))
end

function sysbench.hooks.report_intermediate(stat)
  if sysbench.opt.mine then io.write("mine,") end
  sysbench["report_" .. sysbench.opt.reporter](stat)
end

function sysbench.hooks.report_cumulative(stat)
  print(string.format("in all: %d events, %d ignored errors", stat.events, stat.errors))
  assert(stat.reads > 0 and stat.writes > 0 and stat.other > 0 and stat.reconnects == 0)
  assert(stat.latency_min <= stat.latency_avg and stat.latency_avg <= stat.latency_max)
end

function done()
  print("made in the end: " .. connected():query_row("SELECT SUM(number) FROM made"))
end
