-- Each thread adds rows to a table of its own; most events only add one to a buffer.
local rows = 0

function thread_init()
  con = sysbench.sql.driver():connect()
end

local function create(con, number)
  print(string.format("Creating table 'sbtest%d'...", number))
  con:query(string.format([[
CREATE TABLE IF NOT EXISTS sbtest%d (
  id INTEGER NOT NULL,
  k INTEGER DEFAULT '0' NOT NULL,
  PRIMARY KEY (id))]], number))
end

function prepare()
  local con = sysbench.sql.driver():connect()
  for number = 1, sysbench.opt.threads do create(con, number) end
end

function event()
  if rows == 0 then
    con:bulk_insert_init(string.format("INSERT INTO sbtest%d VALUES", sysbench.tid + 1))
  end
  rows = rows + 1
  con:bulk_insert_next(string.format("(%d, %d)", rows, rows))
end

function thread_done()
  if rows > 0 then con:bulk_insert_done() end
  con:disconnect()
end

function cleanup()
  local con = sysbench.sql.driver():connect()
  for number = 1, sysbench.opt.threads do
    print(string.format("Dropping table 'sbtest%d'...", number))
    con:query("DROP TABLE IF EXISTS sbtest" .. number)
  end
end
