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
  local window = chat.window()
  if window and vim.api.nvim_win_get_tabpage(window) == vim.api.nvim_get_current_tabpage() then
    chat.close()
  else
    chat.open(true)
  end
end

--- Begins a new conversation; what runs is stopped.
function M.new()
  require('copydesk.session').reset()
end

--- Lists the stored conversations, to go on with one.
function M.sessions()
  require('copydesk.sessions').open()
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
  require('copydesk.choices').choose(kind, value)
end

--- Lists what was allowed for longer than once, to take it back.
function M.permissions()
  require('copydesk.permissions').open()
end

--- Goes to the next of the agent's changes that is undecided.
---@param count? integer
function M.next(count)
  require('copydesk.review').next(count)
end

---@param count? integer
function M.previous(count)
  require('copydesk.review').previous(count)
end

--- Lets changes of the agent stay.
---@param what? string 'file', 'all' or a path; nil: the hunk at the cursor, or those of the range.
---@param range? { [1]: integer, [2]: integer } Lines of the current buffer.
function M.accept(what, range)
  require('copydesk.review').decide('accept', what, range)
end

--- Takes changes of the agent back; the model is told.
---@param what? string As of `accept`.
---@param range? { [1]: integer, [2]: integer }
function M.reject(what, range)
  require('copydesk.review').decide('reject', what, range)
end

--- Shows what the hunk at the cursor has changed.
function M.hunk()
  require('copydesk.review').hunk()
end

--- Lists what is undecided.
function M.changes()
  require('copydesk.review').list()
end

--- Shows a diff.
---@param kind? 'turn'|'session'|'head'
---@param mods? string Command modifiers, such as "vertical".
function M.diff(kind, mods)
  require('copydesk.diff').open(kind, mods)
end

--- Takes back what the agent did: the last turn, that turn, or that tool call.
---@param what? { turn: string }|{ call: string }
function M.undo(what)
  require('copydesk.undo').run(what or 'last')
end

--- Does again what was taken back last.
function M.redo()
  require('copydesk.undo').run('redo')
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
    parts[#parts + 1] = require('copydesk.choices').chosen(kind)
  end
  local usage = session.usage()
  if usage then
    parts[#parts + 1] = usage.size and usage.size > 0 and ('%s/%s'):format(thousands(usage.used), thousands(usage.size))
      or thousands(usage.used)
  end
  local undecided = require('copydesk.changes').count()
  if undecided > 0 then
    parts[#parts + 1] = undecided == 1 and '1 hunk' or undecided .. ' hunks'
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
