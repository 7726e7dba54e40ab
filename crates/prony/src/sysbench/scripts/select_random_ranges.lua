require("oltp_common")

sysbench.cmdline.options.number_of_ranges = {"Ranges that one query counts", 10}
sysbench.cmdline.options.delta = {"Width of each range", 5}

function thread_init()
  con = sysbench.sql.driver():connect()
  local part = "k BETWEEN ? AND ?"
  local parts = string.rep(part .. " OR ", sysbench.opt.number_of_ranges - 1) .. part
  ranges = con:prepare("SELECT count(k) FROM sbtest1 WHERE " .. parts)
  values = {}
  for i = 1, sysbench.opt.number_of_ranges * 2 do values[i] = ranges:bind_create(sysbench.sql.type.INT) end
  ranges:bind_param(unpack(values))
end

function event()
  for i = 1, #values, 2 do
    local k = sysbench.rand.default(1, sysbench.opt.table_size)
    values[i]:set(k)
    values[i + 1]:set(k + sysbench.opt.delta)
  end
  ranges:execute()
end

function thread_done()
  ranges:close()
  con:disconnect()
end
