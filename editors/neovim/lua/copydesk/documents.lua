-- The buffers that the daemon sees as documents: each that has a file, from its opening on, under the name that it has.

local M = {}

--- LSP's language ids where they are not the file type.
local language_ids = {
  [''] = 'plaintext',
  bash = 'shellscript',
  cs = 'csharp',
  gitcommit = 'git-commit',
  gitrebase = 'git-rebase',
  make = 'makefile',
  objc = 'objective-c',
  objcpp = 'objective-cpp',
  ps1 = 'powershell',
  sh = 'shellscript',
  tex = 'latex',
  text = 'plaintext',
  zsh = 'shellscript',
}

---@type integer?
local client_id = nil

local group = vim.api.nvim_create_augroup('copydesk.documents', {})

---@param filetype string
---@return string
function M.language_id(_, filetype)
  return language_ids[filetype] or filetype
end

---@param buffer integer
---@return boolean
local function is_file(buffer)
  if not vim.api.nvim_buf_is_loaded(buffer) or vim.bo[buffer].buftype ~= '' then
    return false
  end
  local name = vim.api.nvim_buf_get_name(buffer)
  return name ~= '' and not name:match('^%a[%w+.-]+://') and vim.fn.isdirectory(name) == 0
end

---@param buffer integer
local function attach(buffer)
  if client_id and is_file(buffer) then
    require('copydesk.files').watch(buffer)
    vim.lsp.buf_attach_client(buffer, client_id)
    require('copydesk.changes').attached(buffer)
  end
end

--- Shows the daemon all that is open, and what is opened from now on.
---@param id integer The daemon's client id.
function M.start(id)
  client_id = id
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    attach(buffer)
  end
  vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile', 'BufFilePost', 'BufWritePost' }, {
    group = group,
    callback = function(event)
      -- Later: the file type, and with it the language, is known once all of the event's autocommands have run.
      vim.schedule(function()
        if vim.api.nvim_buf_is_valid(event.buf) then
          attach(event.buf)
        end
      end)
    end,
  })
  -- The text that was told has these in it, and no change tells of them.
  vim.api.nvim_create_autocmd('OptionSet', {
    group = group,
    pattern = { 'fileformat', 'endofline', 'binary' },
    callback = function(event)
      local buffer = event.buf ~= 0 and event.buf or vim.api.nvim_get_current_buf()
      if client_id and vim.lsp.buf_is_attached(buffer, client_id) then
        vim.lsp.buf_detach_client(buffer, client_id)
        attach(buffer)
      end
    end,
  })
  -- Under another name it is another document: the old one is closed while the buffer still has its name.
  vim.api.nvim_create_autocmd('BufFilePre', {
    group = group,
    callback = function(event)
      if client_id and vim.lsp.buf_is_attached(event.buf, client_id) then
        require('copydesk.changes').detached(event.buf)
        vim.lsp.buf_detach_client(event.buf, client_id)
      end
    end,
  })
end

function M.stop()
  client_id = nil
  vim.api.nvim_clear_autocmds({ group = group })
end

--- Tells a server at once what was typed, in this buffer or in all.
---@param client vim.lsp.Client
---@param buffer? integer
function M.flush(client, buffer)
  -- Not public; without it the changes follow after the usual delay.
  local found, tracking = pcall(require, 'vim.lsp._changetracking')
  if found and tracking.flush then
    pcall(tracking.flush, client, buffer)
  end
end

return M
