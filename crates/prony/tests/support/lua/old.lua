-- A script as users wrote them for sysbench 0.5: no options of its own, global functions, a second file
-- beside it.
pathtest = string.match(test, "(.*/)") or ""
dofile(pathtest .. "old_common.lua")

function thread_init(thread_id)
  set_vars()
  db_connect()
  if db_driver == "mysql" and mysql_table_engine ~= "innodb" then begin = "LOCK TABLES old1 WRITE" end
  look = db_prepare("SELECT balance FROM old1 WHERE id = ?")
  look_id = { 1 }
  db_bind_param(look, look_id)
end

function event(thread_id)
  db_query(begin or "BEGIN")
  look_id[1] = sb_rand(1, rows)
  db_execute(look)
  local by = sb_rand_uniform(1, 100)
  rs = db_query("UPDATE old1 SET balance = balance + " .. by .. " WHERE id = " .. sb_rand_special(1, rows))
  db_query("INSERT INTO old2 (thread, change_, note) VALUES (" .. thread_id .. ", " .. by .. ", '" ..
           sb_rand_str("@@@-###") .. "')")
  db_query("COMMIT")
end

function thread_done(thread_id)
  db_close(look)
  db_disconnect()
end
