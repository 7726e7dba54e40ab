require("oltp_common")

sysbench.cmdline.commands.prepare = {
  function()
    -- ids that the client gives may meet rows that are there: the tables stay empty
    if not sysbench.opt.auto_inc then sysbench.opt.table_size = 0 end
    cmd_prepare()
  end,
  sysbench.cmdline.PARALLEL_COMMAND,
}

function prepare_statements() end

function event()
  local opt = sysbench.opt
  local name = "sbtest" .. sysbench.rand.uniform(1, opt.tables)
  local k = sysbench.rand.default(1, opt.table_size)
  local id = opt.auto_inc and 0 or sysbench.rand.unique() - 2147483648
  con:query(string.format("INSERT INTO %s (id, k, c, pad) VALUES (%d, %d, '%s', '%s')", name, id, k,
                          get_c_value(), get_pad_value()))
  check_reconnect()
end
