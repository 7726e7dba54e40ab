-- The deals of store.lua. Each is a transaction; what it did is counted in it.
local f, uniform = string.format, sysbench.rand.uniform
local deals = {}

local function done(kind)
  con:query(f("UPDATE made SET number = number + 1 WHERE kind = '%s'", kind))
  con:query("COMMIT")
end

-- Prepared statements of this connection, for each set of tables.
local take = {}
function prepare_statements()
  local types = sysbench.sql.type
  for set = 1, sysbench.opt.sets do
    local statement = con:prepare(f([[UPDATE stock%d
      SET quantity = IF(quantity > 10, quantity, quantity + 91) - ?,
      sold = sold + ?, mark = ? WHERE depot = ? AND goods = ?]], set))
    local params = {}
    for place, kind in ipairs({ types.SMALLINT, types.INT, types.VARCHAR, types.INT, types.BIGINT }) do
      params[place] = kind == types.VARCHAR and statement:bind_create(kind, 8) or statement:bind_create(kind)
    end
    statement:bind_param(unpack(params))
    take[set] = { statement = statement, params = params }
  end
end

function close_statements()
  for _, each in ipairs(take) do each.statement:close() end
end

function deals.order(set, depot, district)
  local customer, lines = sysbench.rand.default(1, sysbench.opt.customers), uniform(2, 5)
  con:query("BEGIN")
  local rs = con:query(f("SELECT next_order, ytd FROM district%d WHERE depot = %d AND id = %d FOR UPDATE",
      set, depot,
                         district))
  assert(rs.nrows == 1)
  local number = tonumber(rs:fetch_row()[1])
  con:query(f("UPDATE district%d SET next_order = %d WHERE depot = %d AND id = %d", set, number + 1, depot,
      district))
  con:query(f("INSERT INTO orders%d VALUES (%d, %d, %d, %d, %d, NULL)", set, depot, district, number,
      customer, lines))
  for line = 1, lines do
    local goods, quantity = sysbench.rand.pareto(1, sysbench.opt.goods), uniform(1, 10)
    -- now and then the last goods of an order do not exist
    if line == lines and uniform(1, 20) == 1 then goods = 0 end
    local price = con:query_row(f("SELECT price FROM goods%d WHERE id = %d", set, goods))
    if not price and line % 2 == 0 then
      -- it is given up, and counts as what it is
      con:query("ROLLBACK")
      return done("back")
    elseif not price then
      -- it begins again
      error({ errcode = sysbench.error.RESTART_EVENT, why = "no such goods" })
    end
    local p = take[set].params
    p[1]:set(quantity)
    p[2]:set(quantity)
    p[3]:set_rand_str("@@@@@@@@")
    p[4]:set(depot)
    p[5]:set(goods)
    take[set].statement:execute()
    con:query(f("INSERT INTO order_line%d VALUES (%d, %d, %d, %d, %d, %d, %.2f)", set, depot, district,
        number, line,
                goods, quantity, quantity * price))
  end
  done("order")
end

function deals.payment(set, depot, district)
  local amount = uniform(100, 99999) / 100
  con:query("BEGIN")
  con:query(f("UPDATE depot%d SET ytd = ytd + %.2f WHERE id = %d", set, amount, depot))
  con:query(f("UPDATE district%d SET ytd = ytd + %.2f WHERE depot = %d AND id = %d", set, amount, depot,
      district))
  local customer
  if uniform(1, 100) <= 60 then
    -- by name: the one in the middle
    local rs = con:query(f([[SELECT id FROM customer%d
      WHERE depot = %d AND district = %d AND name = 'name %d' ORDER BY id]],
                           set, depot, district, uniform(0, 4)))
    for _ = 1, math.ceil(rs.nrows / 2) do customer = rs:fetch_row()[1] end
  else
    customer = sysbench.rand.gaussian(1, sysbench.opt.customers)
  end
  con:query(f([[UPDATE customer%d SET balance = balance - %.2f
    WHERE depot = %d AND district = %d AND id = %d]], set,
              amount, depot, district, customer))
  con:query(f("INSERT INTO history%d VALUES (%d, %d, %d, %.2f)", set, depot, district, customer, amount))
  done("payment")
end

function deals.look(set, depot, district)
  con:query("BEGIN")
  local id, customer, delivered = con:query_row(f([[SELECT id, customer, delivered FROM orders%d
    WHERE depot = %d AND district = %d ORDER BY id DESC LIMIT 1]], set, depot, district))
  if id then
    assert(tonumber(customer) and (delivered == nil or delivered == "1"))
    local rs = con:query(f([[SELECT goods, amount FROM order_line%d
      WHERE depot = %d AND district = %d AND order_ = %d]],
                           set, depot, district, id))
    assert(rs.nrows > 0 and rs.nfields == 2)
  end
  done("look")
end

function deals.deliver(set, depot)
  con:query("BEGIN")
  for district = 1, DISTRICTS do
    local id = con:query_row(f([[SELECT MIN(id) FROM orders%d
      WHERE depot = %d AND district = %d AND delivered IS NULL
      FOR UPDATE]], set, depot, district))
    if id then
      con:query(f("UPDATE orders%d SET delivered = 1 WHERE depot = %d AND district = %d AND id = %d", set,
          depot,
                  district, id))
    end
  end
  done("deliver")
end

function deals.count(set, depot, district)
  con:query("BEGIN")
  local low = con:query_row(f([[SELECT COUNT(DISTINCT l.goods) FROM order_line%d l JOIN stock%d s
    ON s.depot = l.depot AND s.goods = l.goods WHERE l.depot = %d AND l.district = %d
    AND s.quantity < %d]], set, set,
    depot, district, sysbench.rand.special(10, 20)))
  assert(tonumber(low) >= 0)
  done("count")
end

return deals
