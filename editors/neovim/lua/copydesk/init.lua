-- Copydesk for Neovim: the functions behind the commands. See :help copydesk.

local M = {}

--- Sets options. Not needed: without it the defaults hold.
---@param opts? table See |copydesk-options|.
function M.setup(opts)
  local problems = require('copydesk.config').set(opts)
  if #problems > 0 then
    require('copydesk.log').tell('setup(): ' .. table.concat(problems, '; '), vim.log.levels.WARN)
  end
end

--- These lines of the current buffer, as it has them.
---@param range { [1]: integer, [2]: integer } One-based, both included.
---@return copydesk.Context
local function context_of(range)
  local buffer = vim.api.nvim_get_current_buf()
  local name = vim.api.nvim_buf_get_name(buffer)
  local is_file = name ~= '' and vim.bo[buffer].buftype == ''
  local first, last = range[1], range[2]
  local place = first == last and tostring(first) or ('%d-%d'):format(first, last)
  local fragment = first == last and ('#L%d'):format(first) or ('#L%d-L%d'):format(first, last)
  return {
    uri = is_file and vim.uri_from_bufnr(buffer) .. fragment or nil,
    name = (is_file and vim.fn.fnamemodify(name, ':~:.') or '[buffer]') .. ':' .. place,
    text = table.concat(vim.api.nvim_buf_get_lines(buffer, first - 1, last, false), '\n'),
    filetype = vim.bo[buffer].filetype,
  }
end

--- Sends a prompt, or opens the prompt window where there is no text.
---@param text? string
---@param range? { [1]: integer, [2]: integer } Lines of the current buffer that go with it.
function M.prompt(text, range)
  local contexts = range and { context_of(range) } or {}
  if text and vim.trim(text) ~= '' then
    require('copydesk.chat').open(false)
    require('copydesk.session').prompt(vim.trim(text), contexts)
  else
    require('copydesk.prompt').open(contexts)
  end
end

--- Shows or hides the conversation.
function M.toggle()
  local chat = require('copydesk.chat')
  if chat.window() then
    chat.close()
  else
    chat.open(true)
  end
end

--- Begins a new conversation; what runs is stopped.
function M.new()
  require('copydesk.session').reset()
end

--- Stops the turn that runs.
function M.cancel()
  require('copydesk.session').cancel()
end

--- Shows what is asked, also what was dismissed.
function M.answer()
  require('copydesk.ask').answer()
end

---@param kind copydesk.Kind
---@param value? string
function M.choose(kind, value)
  require('copydesk.session').choose(kind, value)
end

--- Lists what was allowed for longer than once, to take it back.
function M.permissions()
  require('copydesk.permissions').open()
end

--- Ends the daemon and starts it again.
function M.restart()
  local log = require('copydesk.log')
  require('copydesk.client').restart(function(client)
    if client then
      log.tell('the daemon runs')
    end
  end)
end

---@param tokens integer
---@return string
local function thousands(tokens)
  return tokens < 1000 and tostring(tokens) or ('%.0fk'):format(tokens / 1000)
end

--- For status lines: what Copydesk does and what it waits for; empty where it was not used yet. The event
--- `User CopydeskStatus` tells of changes.
---@return string
function M.statusline()
  if not package.loaded['copydesk.client'] then
    return ''
  end
  local status = require('copydesk.client').status()
  if status == 'stopped' then
    return ''
  end
  local session = require('copydesk.session')
  local asks = require('copydesk.ask').count()
  local parts = { 'Copydesk' }
  for _, kind in ipairs({ 'mode', 'model' }) do
    parts[#parts + 1] = session.chosen(kind)
  end
  local usage = session.usage()
  if usage then
    parts[#parts + 1] = usage.size and usage.size > 0 and ('%s/%s'):format(thousands(usage.used), thousands(usage.size))
      or thousands(usage.used)
  end
  if asks > 0 then
    parts[#parts + 1] = asks == 1 and '1 ask: :CopydeskAnswer' or ('%d asks: :CopydeskAnswer'):format(asks)
  elseif status ~= 'ready' then
    parts[#parts + 1] = status
  elseif session.running() then
    parts[#parts + 1] = require('copydesk.countdown').text() or 'working'
  end
  return table.concat(parts, '  ')
end

return M
