-- What the commands of store.lua have in common: options, tables, and the rows that they begin with.
local ffi = require("ffi")
ffi.cdef [[ int usleep(unsigned int microseconds); ]]

sysbench.cmdline.options = {
  depots = { "Depots in each set of tables", 2 },
  sets = { "Sets of tables", 1, sysbench.cmdline.ARG_INT },
  customers = { "Customers of each district", 20 },
  goods = { "Kinds of goods", 50 },
  isolation = { "Isolation of transactions: RR or RC", "RR" },
  kinds = { "Deals that are made", { "order", "payment", "look", "deliver", "count" } },
  refused = { "One event of so many runs into an error", 20 },
  think = { "Pause after each event, microseconds", nil, sysbench.cmdline.ARG_INT },
  mine = { "Reports of its own", true },
  reporter = { "Form of these reports: csv, json or default", "csv" },
}

DISTRICTS = 3

function connected()
  drv = sysbench.sql.driver()
  local con = drv:connect()
  if drv:name() == "mysql" then
    con:query("SET FOREIGN_KEY_CHECKS = 0")
    con:query("SET autocommit = 1")
  end
  local level = sysbench.opt.isolation == "RC" and "READ COMMITTED" or "REPEATABLE READ"
  con:query("SET SESSION TRANSACTION ISOLATION LEVEL " .. level)
  return con
end

local TABLES = {
  depot = "id INT, name VARCHAR(10), ytd DECIMAL(12, 2) NOT NULL DEFAULT 0, PRIMARY KEY (id)",
  district = [[depot INT, id INT, ytd DECIMAL(12, 2) NOT NULL DEFAULT 0, next_order INT NOT NULL DEFAULT 1,
    PRIMARY KEY (depot, id)]],
  customer = [[depot INT, district INT, id INT, name VARCHAR(16), balance DECIMAL(12, 2) NOT NULL DEFAULT 0,
    data CHAR(30), PRIMARY KEY (depot, district, id), KEY by_name (depot, district, name)]],
  goods = "id INT, name VARCHAR(24), price DECIMAL(5, 2), PRIMARY KEY (id)",
  stock = [[depot INT, goods INT, quantity INT, sold INT NOT NULL DEFAULT 0, mark VARCHAR(8),
    PRIMARY KEY (depot, goods)]],
  orders = [[depot INT, district INT, id INT, customer INT, lines_ INT, delivered INT,
    PRIMARY KEY (depot, district, id)]],
  order_line = [[depot INT, district INT, order_ INT, number INT, goods INT, quantity INT,
    amount DECIMAL(8, 2),
    PRIMARY KEY (depot, district, order_, number)]],
  history = "depot INT, district INT, customer INT, amount DECIMAL(6, 2)",
}

local function fill(con, head, rows)
  con:bulk_insert_init("INSERT INTO " .. head .. " VALUES")
  for _, row in ipairs(rows) do con:bulk_insert_next(row) end
  con:bulk_insert_done()
end

local function make(con, set)
  for name, columns in pairs(TABLES) do
    con:query(string.format("CREATE TABLE %s%d (%s) /*! ENGINE = innodb */", name, set, columns))
  end
  local opt, rows = sysbench.opt, { depot = {}, district = {}, customer = {}, goods = {}, stock = {} }
  for id = 1, opt.goods do
    table.insert(rows.goods, string.format("(%d, '%s', %5.2f)", id, sysbench.rand.string("@@@@@-####"),
        id / 4 + 1))
  end
  for depot = 1, opt.depots do
    table.insert(rows.depot, string.format("(%d, 'depot %d')", depot, depot))
    for goods = 1, opt.goods do
      table.insert(rows.stock, string.format("(%d, %d, %d)", depot, goods, sysbench.rand.uniform(10, 100)))
    end
    for district = 1, DISTRICTS do
      table.insert(rows.district, string.format("(%d, %d)", depot, district))
      for id = 1, opt.customers do
        local data = sysbench.rand.string(string.rep("@", 20))
        table.insert(rows.customer, string.format("(%d, %d, %d, 'name %d', '%s')", depot, district, id,
            id % 5, data))
      end
    end
  end
  fill(con, string.format("depot%d (id, name)", set), rows.depot)
  fill(con, string.format("district%d (depot, id)", set), rows.district)
  fill(con, string.format("customer%d (depot, district, id, name, data)", set), rows.customer)
  fill(con, string.format("goods%d", set), rows.goods)
  fill(con, string.format("stock%d (depot, goods, quantity)", set), rows.stock)
  print(string.format("set %d is made", set))
end

function cmd_prepare()
  local con, opt = connected(), sysbench.opt
  for set = sysbench.tid % opt.threads + 1, opt.sets, opt.threads do
    make(con, set)
    if set == 1 then
      con:query([[CREATE TABLE made (kind VARCHAR(10), number INT NOT NULL, PRIMARY KEY (kind))
        /*! ENGINE = innodb */]])
      for _, kind in ipairs({ "order", "payment", "look", "deliver", "count", "back" }) do
        con:query(string.format("INSERT INTO made VALUES ('%s', 0)", kind))
      end
    end
  end
end

-- Conditions that hold after any number of whole transactions; each of these finds what breaks one.
local BROKEN = {
  money = [[SELECT COUNT(*) FROM depot%d p WHERE ytd <>
    (SELECT SUM(ytd) FROM district%d d WHERE d.depot = p.id)]],
  paid = [[SELECT COUNT(*) FROM depot%d p WHERE ytd <>
    (SELECT COALESCE(SUM(amount), 0) FROM history%d h WHERE h.depot = p.id)]],
  numbers = [[SELECT COUNT(*) FROM district%d d WHERE next_order - 1 <>
    (SELECT COUNT(*) FROM orders%d o WHERE o.depot = d.depot AND o.district = d.id)]],
  lines = [[SELECT COUNT(*) FROM orders%d o WHERE lines_ <> (SELECT COUNT(*) FROM order_line%d l
    WHERE l.depot = o.depot AND l.district = o.district AND l.order_ = o.id)]],
  stock = [[SELECT COUNT(*) FROM stock%d s WHERE sold <>
    (SELECT COALESCE(SUM(quantity), 0) FROM order_line%d l WHERE l.depot = s.depot AND l.goods = s.goods)]],
}

function cmd_check()
  local con = connected()
  for set = 1, sysbench.opt.sets do
    for name, sql in pairs(BROKEN) do
      local broken = con:query_row(string.format(sql, set, set))
      assert(broken == "0", name .. " is broken in set " .. set .. ": " .. tostring(broken))
    end
  end
  local rs = con:query("SELECT kind, number, NULL FROM made ORDER BY kind")
  assert(rs.nfields == 3 and rs.nrows == 6)
  local sum = 0
  for _ = 1, rs.nrows do
    local row = rs:fetch_row()
    assert(type(row[1]) == "string" and row[3] == nil)
    sum = sum + row[2]
  end
  assert(rs:fetch_row() == nil)
  rs:free()
  print("everything adds up after " .. sum .. " deals")
end

sysbench.cmdline.commands = {
  prepare = { cmd_prepare, sysbench.cmdline.PARALLEL_COMMAND },
  check = { cmd_check },
}

function cleanup()
  local con = connected()
  for set = 1, sysbench.opt.sets do
    for name in pairs(TABLES) do con:query("DROP TABLE IF EXISTS " .. name .. set) end
    print("set " .. set .. " is gone")
  end
  con:query("DROP TABLE IF EXISTS made")
end

function think()
  if sysbench.opt.think > 0 then ffi.C.usleep(sysbench.opt.think) end
end
