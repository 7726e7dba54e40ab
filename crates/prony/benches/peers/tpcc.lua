-- The transactions of Prony's workload `tpcc-nowait` for sysbench: the same statements on the same tables, as
-- text. What both programs reach on one server must be the same, as far as the server is the limit.

sysbench.cmdline.options = { warehouses = { "Warehouses", 1 } }

local uniform = sysbench.rand.uniform
local SYLLABLES = { "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING" }

local function non_uniform(a, c, min, max)
  return ((bit.bor(uniform(0, a), uniform(min, max)) + c) % (max - min + 1)) + min
end

local function last_name()
  local n = non_uniform(255, 223, 0, 999)
  return SYLLABLES[math.floor(n / 100) + 1] .. SYLLABLES[math.floor(n / 10) % 10 + 1] .. SYLLABLES[n % 10 + 1]
end

local function send(text, ...) con:query(text:format(...)) end
local function row(text, ...) return con:query_row(text:format(...)) end

-- each row is read, as a client reads it
local function rows(text, ...)
  local result = con:query(text:format(...))
  for _ = 1, result.nrows do result:fetch_row() end
end

local function home() return uniform(1, sysbench.opt.warehouses), uniform(1, 10) end

local function other(w, chance)
  if sysbench.opt.warehouses < 2 or uniform(1, 100) > chance then return w end
  local n = uniform(1, sysbench.opt.warehouses - 1)
  return n >= w and n + 1 or n
end

local function new_order()
  local w, d = home()
  local c, lines, wrong, all_local = non_uniform(1023, 259, 1, 3000), uniform(5, 15), uniform(1, 100) == 1, 1
  send("BEGIN")
  row("SELECT c_discount, c_last, c_credit, w_tax FROM warehouse, customer WHERE w_id = %d AND c_w_id = w_id " ..
    "AND c_d_id = %d AND c_id = %d", w, d, c)
  local order = row("SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = %d AND d_id = %d FOR UPDATE", w, d)
  send("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = %d AND d_id = %d", w, d)
  for line = 1, lines do
    local item, quantity, supply = non_uniform(8191, 7911, 1, 100000), uniform(1, 10), other(w, 1)
    if supply ~= w then all_local = 0 end
    if line == lines and wrong then item = 100001 end
    local price = row("SELECT i_price, i_name, i_data FROM item WHERE i_id = %d", item)
    if price == nil then
      send("ROLLBACK")
      return
    end
    local dist = row("SELECT ELT(%d, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, " ..
      "s_dist_08, s_dist_09, s_dist_10), s_quantity, s_data FROM stock WHERE s_w_id = %d AND s_i_id = %d " ..
      "FOR UPDATE", d, supply, item)
    send("UPDATE stock SET s_quantity = IF(s_quantity >= %d + 10, s_quantity - %d, s_quantity - %d + 91), " ..
      "s_ytd = s_ytd + %d, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + IF(%d = %d, 0, 1) " ..
      "WHERE s_w_id = %d AND s_i_id = %d", quantity, quantity, quantity, quantity, supply, w, supply, item)
    send("INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, " ..
      "ol_quantity, ol_amount, ol_dist_info) VALUES (%d, %d, %d, %d, %d, %d, NULL, %d, %d * CAST('%s' AS " ..
      "DECIMAL(5,2)), '%s')", w, d, order, line, item, supply, quantity, quantity, price, dist)
  end
  send("INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) VALUES " ..
    "(%d, %d, %d, %d, NOW(), NULL, %d, %d)", w, d, order, c, lines, all_local)
  send("INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (%d, %d, %d)", w, d, order)
  send("COMMIT")
end

-- six of ten customers are found by their last name: the one in the middle
local function customer(w, d)
  if uniform(1, 100) > 60 then return non_uniform(1023, 259, 1, 3000) end
  local last = last_name()
  local count = tonumber(row("SELECT COUNT(*) FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_last = '%s'",
    w, d, last))
  local result = con:query(("SELECT c_id FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_last = '%s' " ..
    "ORDER BY c_first LIMIT %d, 1"):format(w, d, last, math.max(math.ceil(count / 2) - 1, 0)))
  return result.nrows > 0 and result:fetch_row()[1] or 1
end

local function payment()
  local w, d = home()
  local amount, c_w, c_d = uniform(100, 500000), other(w, 15), d
  if c_w ~= w then c_d = uniform(1, 10) end
  send("BEGIN")
  send("UPDATE warehouse SET w_ytd = w_ytd + %d * 0.01 WHERE w_id = %d", amount, w)
  local w_name = row("SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = %d", w)
  send("UPDATE district SET d_ytd = d_ytd + %d * 0.01 WHERE d_w_id = %d AND d_id = %d", amount, w, d)
  local d_name = row("SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district WHERE " ..
    "d_w_id = %d AND d_id = %d", w, d)
  local c = customer(c_w, c_d)
  local credit = row("SELECT c_credit, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, " ..
    "c_phone, c_credit_lim, c_discount, c_balance, c_since FROM customer WHERE c_w_id = %d AND c_d_id = %d AND " ..
    "c_id = %d FOR UPDATE", c_w, c_d, c)
  local data = ""
  if credit == "BC" then
    row("SELECT c_data FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d", c_w, c_d, c)
    data = (", c_data = LEFT(CONCAT_WS(' ', %d, %d, %d, %d, %d, %d * 0.01, c_data), 500)"):format(c, c_d, c_w, d, w,
      amount)
  end
  send("UPDATE customer SET c_balance = c_balance - %d * 0.01, c_ytd_payment = c_ytd_payment + %d * 0.01, " ..
    "c_payment_cnt = c_payment_cnt + 1%s WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d", amount, amount, data,
    c_w, c_d, c)
  send("INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES (%d, %d, " ..
    "%d, %d, %d, NOW(), %d * 0.01, CONCAT('%s', '    ', '%s'))", c, c_d, c_w, d, w, amount, w_name, d_name)
  send("COMMIT")
end

local function order_status()
  local w, d = home()
  send("BEGIN")
  local c = customer(w, d)
  row("SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d",
    w, d, c)
  local order = row("SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = %d AND o_d_id = %d AND " ..
    "o_c_id = %d ORDER BY o_id DESC LIMIT 1", w, d, c)
  rows("SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_w_id = %d " ..
    "AND ol_d_id = %d AND ol_o_id = %d", w, d, order or 0)
  send("COMMIT")
end

local function delivery()
  local w, carrier = uniform(1, sysbench.opt.warehouses), uniform(1, 10)
  send("BEGIN")
  for d = 1, 10 do
    local order = row("SELECT no_o_id FROM new_order WHERE no_w_id = %d AND no_d_id = %d ORDER BY no_o_id LIMIT 1 " ..
      "FOR UPDATE", w, d)
    if order ~= nil then
      send("DELETE FROM new_order WHERE no_w_id = %d AND no_d_id = %d AND no_o_id = %d", w, d, order)
      local c = row("SELECT o_c_id FROM orders WHERE o_w_id = %d AND o_d_id = %d AND o_id = %d", w, d, order)
      send("UPDATE orders SET o_carrier_id = %d WHERE o_w_id = %d AND o_d_id = %d AND o_id = %d", carrier, w, d, order)
      send("UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d", w, d,
        order)
      local total = row("SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d",
        w, d, order)
      send("UPDATE customer SET c_balance = c_balance + CAST('%s' AS DECIMAL(12,2)), c_delivery_cnt = " ..
        "c_delivery_cnt + 1 WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d", total, w, d, c)
    end
  end
  send("COMMIT")
end

local function stock_level()
  local w, d = home()
  send("BEGIN")
  local order = row("SELECT d_next_o_id FROM district WHERE d_w_id = %d AND d_id = %d", w, d)
  row("SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id < %d " ..
    "AND ol_o_id >= %d - 20 AND s_w_id = ol_w_id AND s_i_id = ol_i_id AND s_quantity < %d", w, d, order, order,
    uniform(10, 20))
  send("COMMIT")
end

function thread_init()
  con = sysbench.sql.driver():connect()
end

local MIX = { { 45, new_order }, { 88, payment }, { 92, order_status }, { 96, delivery }, { 100, stock_level } }

function event()
  local point = uniform(1, 100)
  for _, one in ipairs(MIX) do
    if point <= one[1] then return one[2]() end
  end
end

function thread_done()
  con:disconnect()
end
