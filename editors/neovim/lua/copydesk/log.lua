-- What the plugin says: notifications to the user, and a log file. The daemon writes a log of its own.

local M = {}

--- Bytes; then a new one is begun, and the one before is kept.
local LIMIT = 1024 * 1024

---@return string
function M.path()
  return vim.fs.joinpath(vim.fn.stdpath('log') --[[@as string]], 'copydesk.log')
end

--- Appends one line. A log that cannot be written is no reason to fail.
---@param level string
---@param text string
function M.write(level, text)
  local path = M.path()
  vim.fn.mkdir(vim.fs.dirname(path), 'p')
  local stat = vim.uv.fs_stat(path)
  if stat and stat.size > LIMIT then
    vim.uv.fs_rename(path, path .. '.1')
  end
  local file = io.open(path, 'a')
  if not file then
    return
  end
  file:write(('%s %s %s\n'):format(os.date('%Y-%m-%d %H:%M:%S'), level, (text:gsub('\n', '\\n'))))
  file:close()
end

--- Logs the text and shows it to the user.
---@param text string
---@param level? integer One of `vim.log.levels`.
function M.tell(text, level)
  level = level or vim.log.levels.INFO
  M.write(level >= vim.log.levels.ERROR and 'error' or level >= vim.log.levels.WARN and 'warn' or 'info', text)
  vim.notify('Copydesk: ' .. text, level, { title = 'Copydesk' })
end

--- Opens the log in a split, at its end.
function M.open()
  local path = M.path()
  vim.fn.mkdir(vim.fs.dirname(path), 'p')
  vim.cmd.split(vim.fn.fnameescape(path))
  vim.bo.autoread = true
  vim.cmd.normal({ 'G', bang = true })
  vim.api.nvim_echo(
    { { 'What the daemon writes to its error stream is in ' .. vim.lsp.log.get_filename() } },
    false,
    {}
  )
end

return M
