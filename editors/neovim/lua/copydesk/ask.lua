-- What the daemon asks before it acts: a queue of asks, the preview of what would be done, the answer by `vim.ui.select`.
-- Only a chosen option is consent: an ask whose menu is dismissed stays open, and nothing is allowed while a part of it was not shown.

local chat = require('copydesk.chat')
local log = require('copydesk.log')
local render = require('copydesk.render')

local M = {}

---@class copydesk.Option ACP's `PermissionOption`.
---@field optionId string
---@field name string
---@field kind 'allow_once'|'allow_always'|'reject_once'|'reject_always'

---@class copydesk.Part A part of a command that made it a question.
---@field start integer Bytes of the command as it is shown.
---@field ["end"] integer
---@field line integer From 1.

---@class copydesk.Command `_meta.copydesk.command` of an ask.
---@field shown string
---@field asked copydesk.Part[]

---@class copydesk.Ask
---@field session string
---@field call table ACP's tool call.
---@field options copydesk.Option[]
---@field answer fun(result: any)
---@field preview string[] All that would be done, as lines.
---@field filetype string Of the preview.
---@field command? copydesk.Command
---@field form? copydesk.Form Questions of the model in place of a call to be allowed.
---@field cancelled any The answer where nobody answers.
---@field seen boolean The user could see all of the preview.
---@field postponed boolean The user has dismissed the menu: it comes back on demand only.

---@class copydesk.Item A row of the menu.
---@field name string
---@field run fun()

local state = {
  ---@type copydesk.Ask[] In the order of arrival.
  pending = {},
  ---@type copydesk.Ask? The one whose menu is shown.
  open = nil,
  ---@type integer?
  window = nil,
}

local group = vim.api.nvim_create_augroup('copydesk.ask', {})
local marks = vim.api.nvim_create_namespace('copydesk.ask')
vim.api.nvim_set_hl(0, 'CopydeskAsked', { link = 'WarningMsg', default = true })
local present_next

--- How many asks wait for an answer.
---@return integer
function M.count()
  return #state.pending
end

---@param call table
---@return string
local function title(call)
  return ((call.title or call.kind or 'go on'):gsub('%s*[\r\n]+%s*', ' '))
end

local function close_preview()
  local window = state.window
  state.window = nil
  if window and vim.api.nvim_win_is_valid(window) then
    vim.api.nvim_win_close(window, true)
  end
end

---@param ask copydesk.Ask
---@return boolean
local function is_pending(ask)
  return vim.list_contains(state.pending, ask)
end

---@param ask copydesk.Ask
local function forget(ask)
  for index, other in ipairs(state.pending) do
    if other == ask then
      table.remove(state.pending, index)
      break
    end
  end
  if state.open == ask then
    state.open = nil
    close_preview()
  end
  chat.mark_asked(ask.call.toolCallId, false)
  require('copydesk.session').changed()
end

---@param ask copydesk.Ask
---@param option copydesk.Option
---@param message? string
local function choose(ask, option, message)
  local outcome = { outcome = 'selected', optionId = option.optionId }
  if message then
    outcome._meta = { copydesk = { message = message } }
  end
  forget(ask)
  ask.answer({ outcome = outcome })
  present_next()
end

---@param ask copydesk.Ask
local function postpone(ask)
  ask.postponed = true
  state.open = nil
  close_preview()
  log.tell(('"%s" still waits for an answer: :CopydeskAnswer'):format(title(ask.call)))
  require('copydesk.session').changed()
  present_next()
end

--- Goes on with an ask that still waits. A menu of a plugin that fails must not lose it.
---@param ask copydesk.Ask
---@param run fun()
local function proceed(ask, run)
  if not is_pending(ask) then
    return
  end
  local ok, problem = pcall(run)
  if ok then
    return
  end
  if not is_pending(ask) or state.open ~= ask then
    error(problem, 0)
  end
  log.tell('the menu failed: ' .. tostring(problem), vim.log.levels.ERROR)
  postpone(ask)
end

--- Whether the end of the preview is in view.
---@param window integer
---@param count integer Lines of the preview.
---@return boolean
local function at_end(window, count)
  local last = vim.api.nvim_win_text_height(window, { start_row = count - 1 }).all
  if last <= vim.api.nvim_win_get_height(window) then
    return vim.fn.line('w$', window) >= count
  end
  -- A last line that is higher than the window: its end is where the cursor is.
  local cursor = vim.api.nvim_win_get_cursor(window)
  local buffer = vim.api.nvim_win_get_buf(window)
  local line = vim.api.nvim_buf_get_lines(buffer, count - 1, count, true)[1]
  return cursor[1] == count and vim.str_utf_end(line, cursor[2] + 1) + cursor[2] + 1 >= #line
end

--- The row of the preview, from 0, where the command stands.
---@param preview string[]
---@param command string[]
---@return integer?
local function row_of(preview, command)
  for row = 0, #preview - #command do
    if vim.deep_equal(vim.list_slice(preview, row + 1, row + #command), command) then
      return row
    end
  end
end

--- Highlights the parts of a command that made it a question.
---@param buffer integer
---@param ask copydesk.Ask
local function mark_asked(buffer, ask)
  local command = ask.command
  local lines = command and vim.split(command.shown, '\n', { plain = true })
  local first = lines and row_of(ask.preview, lines)
  if not command or not first then
    return
  end
  local starts, offset = {}, 0
  for index, line in ipairs(lines) do
    starts[index] = offset
    offset = offset + #line + 1
  end
  for _, part in ipairs(command.asked or {}) do
    local last = part.line
    while starts[last + 1] and starts[last + 1] < part['end'] do
      last = last + 1
    end
    vim.api.nvim_buf_set_extmark(buffer, marks, first + part.line - 1, part.start - starts[part.line], {
      end_row = first + last - 1,
      end_col = part['end'] - starts[last],
      hl_group = 'CopydeskAsked',
      strict = false,
    })
  end
end

---@param ask copydesk.Ask
---@return integer window
local function show_preview(ask)
  close_preview()
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = 'wipe'
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, ask.preview)
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].filetype = ask.filetype
  mark_asked(buffer, ask)
  -- At the top: the menu of the built-in `vim.ui.select` grows from below. Those of plugins are windows, which must not be covered.
  local room = math.max(1, math.min(math.floor(vim.o.lines / 2), vim.o.lines - vim.o.cmdheight - #ask.options * 2 - 8))
  local window = vim.api.nvim_open_win(buffer, false, {
    relative = 'editor',
    row = 0,
    col = 0,
    width = math.max(1, vim.o.columns - 2),
    height = math.min(#ask.preview, room),
    border = 'rounded',
    title = ' ' .. title(ask.call) .. ' ',
    zindex = 45,
    style = 'minimal',
  })
  vim.wo[window][0].wrap = true
  vim.wo[window][0].conceallevel = 0
  vim.w[window].copydesk_preview = true
  vim.api.nvim_win_set_height(window, math.min(vim.api.nvim_win_text_height(window, {}).all, room))
  state.window = window
  vim.cmd.redraw()
  if vim.api.nvim_win_text_height(window, {}).all <= vim.api.nvim_win_get_height(window) then
    ask.seen = true
  end
  return window
end

local present

--- Lets the user read a preview that is longer than its window; the menu comes back when it is left.
---@param ask copydesk.Ask
local function scroll(ask)
  local window = state.window and vim.api.nvim_win_is_valid(state.window) and state.window or show_preview(ask)
  local buffer = vim.api.nvim_win_get_buf(window)
  local function look()
    if vim.api.nvim_win_is_valid(window) and at_end(window, #ask.preview) then
      ask.seen = true
    end
  end
  local function back()
    look()
    if is_pending(ask) and state.open == ask then
      present(ask)
    end
  end
  for _, key in ipairs({ 'q', '<CR>', '<Esc>' }) do
    vim.keymap.set('n', key, back, { buffer = buffer, nowait = true, desc = 'Copydesk: back to the answers' })
  end
  vim.api.nvim_create_autocmd({ 'CursorMoved', 'WinScrolled' }, { group = group, buffer = buffer, callback = look })
  vim.api.nvim_create_autocmd('WinClosed', {
    group = group,
    pattern = tostring(window),
    once = true,
    callback = function()
      if state.window == window then
        state.window = nil
        vim.schedule(function()
          if is_pending(ask) and state.open == ask then
            postpone(ask)
          end
        end)
      end
    end,
  })
  vim.api.nvim_set_current_win(window)
  log.tell('scroll to the end with the usual keys; q leads back to the answers')
end

---@param ask copydesk.Ask
---@return copydesk.Item[]
local function items(ask)
  local found = {}
  if not ask.seen then
    found[1] = {
      name = ('Read on: not all of the preview is shown (lines: %d)'):format(#ask.preview),
      run = function()
        scroll(ask)
      end,
    }
  end
  for _, option in ipairs(ask.options) do
    local rejects = vim.startswith(option.kind or '', 'reject')
    if rejects or ask.seen then
      found[#found + 1] = {
        name = option.name,
        run = function()
          choose(ask, option)
        end,
      }
    end
    if option.kind == 'reject_once' then
      found[#found + 1] = {
        name = option.name .. ', and say what to do instead',
        run = function()
          vim.ui.input({ prompt = 'Instead: ' }, function(message)
            proceed(ask, function()
              if message and vim.trim(message) ~= '' then
                choose(ask, option, message)
              else
                postpone(ask)
              end
            end)
          end)
        end,
      }
    end
  end
  return found
end

---@param ask copydesk.Ask
local function present_form(ask)
  require('copydesk.form').ask(ask.form, function(run)
    proceed(ask, run)
  end, function(result)
    if result then
      forget(ask)
      ask.answer(result)
      present_next()
    else
      postpone(ask)
    end
  end)
end

---@param ask copydesk.Ask
local function present_call(ask)
  show_preview(ask)
  vim.ui.select(items(ask), {
    prompt = ('Copydesk: %s'):format(title(ask.call)),
    kind = 'copydesk_ask',
    format_item = function(item)
      return item.name
    end,
  }, function(item)
    proceed(ask, item and item.run or function()
      postpone(ask)
    end)
  end)
end

--- Shows the questions, or the preview and then the menu.
---@param ask copydesk.Ask
function present(ask)
  state.open = ask
  ask.postponed = false
  proceed(ask, function()
    local show = ask.form and present_form or present_call
    show(ask)
  end)
end

--- Whether a menu may come up now without taking a key that was meant for something else.
---@return boolean
local function is_idle()
  local mode = vim.api.nvim_get_mode()
  return (mode.mode == 'n' or mode.mode == 'nt')
    and not mode.blocking
    and vim.fn.state('mo') == ''
    and vim.fn.getcmdwintype() == ''
end

--- Presents the first ask that was not postponed, once the user is in Normal mode with nothing begun.
function present_next()
  if state.open then
    return
  end
  local ask
  for _, candidate in ipairs(state.pending) do
    if not candidate.postponed then
      ask = candidate
      break
    end
  end
  if not ask then
    return
  end
  if is_idle() then
    present(ask)
    return
  end
  if #vim.api.nvim_get_autocmds({ group = group, event = 'ModeChanged' }) == 0 then
    vim.api.nvim_create_autocmd({ 'ModeChanged', 'SafeState' }, {
      group = group,
      callback = function()
        if is_idle() then
          vim.api.nvim_clear_autocmds({ group = group, event = { 'ModeChanged', 'SafeState' } })
          vim.schedule(present_next)
        end
      end,
    })
  end
end

--- Has it wait for its turn.
---@param ask copydesk.Ask
local function put(ask)
  state.pending[#state.pending + 1] = ask
  chat.mark_asked(ask.call.toolCallId, true)
  require('copydesk.session').changed()
  if state.open or not is_idle() then
    log.tell(('asks: "%s". It comes up in Normal mode, or by :CopydeskAnswer.'):format(title(ask.call)))
  end
  present_next()
end

--- A `session/request_permission` of the daemon.
---@param params { sessionId: string, toolCall: table, options: copydesk.Option[], _meta?: table }
---@param answer fun(result: any)
function M.add(params, answer)
  local lines, filetype = render.preview(params.toolCall, title(params.toolCall))
  ---@type copydesk.Ask
  local ask = {
    session = params.sessionId,
    call = params.toolCall,
    options = params.options,
    answer = answer,
    preview = lines,
    filetype = filetype,
    command = vim.tbl_get(params, '_meta', 'copydesk', 'command') or nil,
    cancelled = { outcome = { outcome = 'cancelled' } },
    seen = false,
    postponed = false,
  }
  put(ask)
end

--- An `elicitation/create` of the daemon.
---@param params { sessionId: string, toolCallId?: string, message: string, requestedSchema: table }
---@param answer fun(result: any)
function M.add_form(params, answer)
  put({
    session = params.sessionId,
    call = { toolCallId = params.toolCallId, title = params.message },
    options = {},
    answer = answer,
    preview = {},
    filetype = '',
    form = require('copydesk.form').new(params),
    cancelled = { action = 'cancel' },
    seen = true,
    postponed = false,
  })
end

--- Presents an ask, also one that was dismissed; of several the user picks one.
function M.answer()
  -- A menu that the user interface closed without a word is no reason to be stuck.
  state.open = nil
  close_preview()
  if #state.pending == 0 then
    log.tell('nothing is asked')
  elseif #state.pending == 1 then
    present(state.pending[1])
  else
    vim.ui.select(vim.list_slice(state.pending), {
      prompt = 'Copydesk asks',
      kind = 'copydesk_asks',
      format_item = function(ask)
        return title(ask.call)
      end,
    }, function(ask)
      if ask and is_pending(ask) then
        present(ask)
      end
    end)
  end
end

--- The call has ended without the answer: the ask is moot.
---@param call string
function M.withdraw(call)
  for _, ask in ipairs(vim.list_slice(state.pending)) do
    if ask.call.toolCallId == call then
      forget(ask)
      ask.answer(ask.cancelled)
    end
  end
  present_next()
end

--- The turn is cancelled: every ask is answered so.
function M.cancel_all()
  for _, ask in ipairs(vim.list_slice(state.pending)) do
    forget(ask)
    ask.answer(ask.cancelled)
  end
end

--- Nobody waits for the answers any more.
function M.drop_all()
  for _, ask in ipairs(vim.list_slice(state.pending)) do
    forget(ask)
  end
end

return M
