require("oltp_common")

sysbench.cmdline.options.random_points = {"Values in the IN list", 10}

function thread_init()
  con = sysbench.sql.driver():connect()
  local marks = string.rep("?, ", sysbench.opt.random_points - 1) .. "?"
  points = con:prepare("SELECT id, k, c, pad FROM sbtest1 WHERE k IN (" .. marks .. ")")
  values = {}
  for i = 1, sysbench.opt.random_points do values[i] = points:bind_create(sysbench.sql.type.INT) end
  points:bind_param(unpack(values))
end

function event()
  for i = 1, #values do values[i]:set(sysbench.rand.default(1, sysbench.opt.table_size)) end
  points:execute()
end

function thread_done()
  points:close()
  con:disconnect()
end
