-- What the commands of old.lua have in common.
function set_vars()
  rows = tonumber(old_table_size) or 100
  assert(rows > 0 and mysql_table_engine and myisam_max_rows)
end

function prepare()
  set_vars()
  db_connect()
  db_query("CREATE TABLE old1 (id INT NOT NULL PRIMARY KEY, balance INT NOT NULL)")
  db_query("CREATE TABLE old2 (id INT AUTO_INCREMENT PRIMARY KEY, thread INT, change_ INT, note VARCHAR(20))")
  db_bulk_insert_init("INSERT INTO old1 VALUES")
  for id = 1, rows do db_bulk_insert_next("(" .. id .. ", 0)") end
  db_bulk_insert_done()
  print("old tables are made")
end

function cleanup()
  db_connect()
  db_query("DROP TABLE IF EXISTS old1")
  db_query("DROP TABLE IF EXISTS old2")
end
