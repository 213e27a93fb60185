-- Buffers and their files: which buffer a URI names, saving for the daemon, and reading again what it has changed on the disk.
-- Never with a question to the user: what cannot be done is told to the daemon.

local M = {}

---@class copydesk.FileStamp
---@field size integer
---@field seconds integer
---@field nanoseconds integer

local group = vim.api.nvim_create_augroup('copydesk.files', {})

--- The files as the buffers last knew them.
---@type table<integer, copydesk.FileStamp|false>
local known = {}

--- The buffer that the URI names, however it is spelled.
---@param uri string
---@return integer?
function M.buffer_of(uri)
  local path = vim.uri_to_fname(uri)
  local real = vim.uv.fs_realpath(path)
  local found
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buffer)
    if name == path then
      return buffer
    end
    if real and name ~= '' and vim.uv.fs_realpath(name) == real then
      found = buffer
    end
  end
  return found
end

--- The file that the URI names, with its links followed where it is there.
---@param uri string
---@return string
function M.path(uri)
  local path = vim.uri_to_fname(uri)
  return vim.uv.fs_realpath(path) or path
end

--- The same as `buffer_of` for many URIs: the loaded buffers are looked at once.
---@return fun(uri: string): integer?
function M.index()
  local buffers = {}
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buffer)
    if name ~= '' and vim.api.nvim_buf_is_loaded(buffer) and vim.bo[buffer].buftype == '' then
      buffers[vim.uv.fs_realpath(name) or name] = buffer
    end
  end
  return function(uri)
    return buffers[M.path(uri)]
  end
end

---@param buffer integer
---@return copydesk.FileStamp|false
local function stamp(buffer)
  local stat = vim.uv.fs_stat(vim.api.nvim_buf_get_name(buffer))
  return stat and { size = stat.size, seconds = stat.mtime.sec, nanoseconds = stat.mtime.nsec } or false
end

--- Begins to remember the file as the buffer knows it, after each read and write. Called for each buffer that the daemon sees.
---@param buffer integer
function M.watch(buffer)
  if known[buffer] ~= nil then
    return
  end
  known[buffer] = stamp(buffer)
  if #vim.api.nvim_get_autocmds({ group = group }) == 0 then
    vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufWritePost', 'FileChangedShellPost' }, {
      group = group,
      callback = function(event)
        -- A buffer that was kept as it is, not read again, still has the file to ask about.
        local kept = event.event == 'FileChangedShellPost' and vim.bo[event.buf].modified
        if known[event.buf] ~= nil and not kept then
          known[event.buf] = stamp(event.buf)
        end
      end,
    })
    vim.api.nvim_create_autocmd('BufUnload', {
      group = group,
      callback = function(event)
        known[event.buf] = nil
      end,
    })
  end
end

--- Whether something else has written the file since the buffer was read or written. Writing would make Neovim ask.
---@param buffer integer
---@return boolean
local function changed_behind(buffer)
  return known[buffer] ~= nil and not vim.deep_equal(known[buffer], stamp(buffer))
end

---@param err string
---@return string
local function plain(err)
  return (err:gsub('^.-(E%d+:)', '%1'):gsub('^Vim%b():', ''))
end

--- Writes a modified buffer with all its autocommands.
---@param buffer integer
---@return string? reason Why it is not saved.
local function write(buffer)
  if vim.api.nvim_buf_get_name(buffer) == '' or vim.bo[buffer].buftype ~= '' then
    return 'the buffer has no file'
  end
  if vim.bo[buffer].readonly then
    return "the buffer is read-only ('readonly')"
  end
  if changed_behind(buffer) then
    return 'the file was changed on the disk by something else, and the buffer has text of its own'
  end
  local confirm = vim.o.confirm
  vim.o.confirm = false
  local written, err = pcall(vim.api.nvim_buf_call, buffer, function()
    vim.cmd.write({ mods = { silent = true } })
  end)
  vim.o.confirm = confirm
  if vim.bo[buffer].modified then
    return written and 'the buffer is still modified after writing' or plain(tostring(err))
  end
end

--- The answer to `_copydesk/save`.
---@param params { uris: string[] }
---@return { unsaved: { uri: string, reason: string }[] }
function M.save(params)
  local unsaved = {}
  for _, uri in ipairs(params.uris) do
    local buffer = M.buffer_of(uri)
    if buffer and vim.api.nvim_buf_is_loaded(buffer) and vim.bo[buffer].modified then
      local reason = write(buffer)
      if reason then
        unsaved[#unsaved + 1] = { uri = uri, reason = reason }
      end
    end
  end
  return { unsaved = unsaved }
end

--- Reads the file again, cursor and undo history kept.
---@param buffer integer
local function reload(buffer)
  local hook = vim.api.nvim_create_autocmd('FileChangedShell', {
    group = group,
    buffer = buffer,
    callback = function()
      vim.v.fcs_choice = 'reload'
    end,
  })
  pcall(vim.cmd.checktime, { args = { tostring(buffer) }, mods = { silent = true } })
  pcall(vim.api.nvim_del_autocmd, hook)
end

--- The answer to `_copydesk/files_changed`.
---@param params { files: { uri: string, kind: 'created'|'changed'|'deleted' }[] }
---@return { reloaded: string[], conflicts: string[] }
function M.changed(params)
  local reloaded, conflicts = {}, {}
  for _, file in ipairs(params.files) do
    local buffer = M.buffer_of(file.uri)
    if buffer and vim.api.nvim_buf_is_loaded(buffer) then
      -- A buffer whose file is gone holds the only copy of its text.
      if vim.bo[buffer].modified or file.kind == 'deleted' then
        conflicts[#conflicts + 1] = file.uri
      else
        reload(buffer)
        reloaded[#reloaded + 1] = file.uri
      end
    end
  end
  return { reloaded = reloaded, conflicts = conflicts }
end

return M
