-- A script with a loop of its own, by the functions of sysbench's program, and with everything that it can
-- draw.
local ffi = require("ffi")
if not pcall(function() return ffi.C.sb_event_start end) then
  ffi.cdef [[ void sb_event_start(int thread); void sb_event_stop(int thread);
             bool sb_more_events(int thread); ]]
end
sysbench.cmdline.options = { width = { "Width of what is drawn", 1000 } }

function thread_init()
  con = sysbench.sql.driver():connect()
  times = sysbench.histogram.new(100, 1, 1000)
  -- more than any buffer holds at once
  assert(#con:query_row("SELECT REPEAT('x', 300000)") == 300000)
end

local function draw()
  local rand, width = sysbench.rand, sysbench.opt.width
  for _, kind in ipairs({ "default", "uniform", "gaussian", "special", "pareto" }) do
    local drawn = rand[kind](1, width)
    assert(drawn >= 1 and drawn <= width and drawn % 1 == 0, kind)
  end
  assert(rand.uniform_double() < 1 and rand.unique() >= 0 and rand.uniform_uint64() >= 0)
  assert(rand.string("##-@@"):match("^%d%d%-%l%l$"))
  return rand.uniform(1, width)
end

-- sysbench wants one, whoever calls it.
function event()
  local drawn = draw()
  times:update(drawn)
  assert(tonumber((con:query_row("SELECT " .. drawn))) == drawn)
end

function thread_run(tid)
  while ffi.C.sb_more_events(tid) do
    ffi.C.sb_event_start(tid)
    event()
    ffi.C.sb_event_stop(tid)
  end
end

function thread_done()
  if sysbench.tid == 0 then times:print() end
  con:disconnect()
end
