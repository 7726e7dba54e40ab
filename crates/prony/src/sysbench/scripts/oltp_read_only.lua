require("oltp_common")

function prepare_statements()
  if not sysbench.opt.skip_trx then
    prepare_begin()
    prepare_commit()
  end
  prepare_point_selects()
  if sysbench.opt.range_selects then prepare_ranges() end
end

function event()
  if not sysbench.opt.skip_trx then begin() end
  execute_point_selects()
  if sysbench.opt.range_selects then execute_ranges() end
  if not sysbench.opt.skip_trx then commit() end
  check_reconnect()
end
