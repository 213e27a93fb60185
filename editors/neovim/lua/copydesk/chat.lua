-- The conversation as a Markdown buffer: what was said, tool calls, diffs, the plan. Shows; decides and sends nothing.

local config = require('copydesk.config')
local countdown = require('copydesk.countdown')
local log = require('copydesk.log')
local render = require('copydesk.render')
local windows = require('copydesk.windows')

local M = {}

---@class copydesk.Block
---@field kind 'user'|'heading'|'text'|'thought'|'tool'|'plan'|'notice'
---@field lines string[] As they stand in the buffer, with the blank line that parts it from the block above.
---@field levels (integer|string)[] Fold levels of the lines, as of 'foldexpr'.
---@field gap boolean Whether a blank line stands above.
---@field text? string Of the kinds that are streamed.
---@field message? string Id of the message that is streamed.
---@field call? table The tool call, as told so far.
---@field entries? table[] Of the plan.
---@field shown integer How many of the lines the buffer holds.
---@field dirty_from? integer The first line that the buffer does not hold as it is.

---@class copydesk.Context A piece of a buffer that goes with a prompt.
---@field uri? string With the lines as its fragment; nil: a buffer without a file.
---@field name string Path and lines, for people.
---@field text string
---@field filetype string

local NAME = 'copydesk://chat'

local state = {
  ---@type integer?
  buffer = nil,
  ---@type copydesk.Block[]
  blocks = {},
  ---@type table<string, copydesk.Block>
  calls = {},
  ---@type copydesk.Block?
  plan = nil,
  --- The blocks of the agent's present turn stand under a heading already.
  answering = false,
  flush_planned = false,
  ---@type (integer|string)[]?
  levels = nil,
}

---@return integer
local function buffer()
  if state.buffer and vim.api.nvim_buf_is_valid(state.buffer) then
    return state.buffer
  end
  local buf = windows.named(NAME)
  state.buffer = buf
  vim.bo[buf].bufhidden = 'hide'
  vim.bo[buf].undolevels = -1
  vim.bo[buf].modifiable = false
  vim.bo[buf].filetype = 'copydesk'
  vim.treesitter.language.register('markdown', 'copydesk')
  pcall(vim.treesitter.start, buf, 'markdown')
  local keymaps = config.get().keymaps
  local actions = {
    prompt = function()
      require('copydesk.prompt').open()
    end,
    answer = function()
      require('copydesk.ask').answer()
    end,
    cancel = function()
      require('copydesk.session').cancel()
    end,
    undo = function()
      local call = M.call_at(vim.api.nvim_win_get_cursor(0)[1])
      if call then
        require('copydesk').undo({ call = call })
      else
        log.tell('there is no tool call here; :CopydeskUndo takes back the last turn')
      end
    end,
    close = M.close,
  }
  for action, key in pairs(keymaps and keymaps.chat or {}) do
    for _, lhs in ipairs(config.keys(key)) do
      vim.keymap.set('n', lhs, actions[action], { buffer = buf, desc = 'Copydesk: ' .. action })
    end
  end
  for _, block in ipairs(state.blocks) do
    block.shown = 0
    block.dirty_from = 1
  end
  return buf
end

--- The windows of this tab and others that show the conversation with the cursor on its last line.
---@param buf integer
---@return integer[]
local function following(buf)
  local last = vim.api.nvim_buf_line_count(buf)
  return vim.tbl_filter(function(window)
    return vim.api.nvim_win_get_cursor(window)[1] == last
  end, vim.fn.win_findbuf(buf))
end

---@param buf integer
local function write(buf)
  local row = 0
  local total = 0
  for _, block in ipairs(state.blocks) do
    total = total + block.shown
  end
  for _, block in ipairs(state.blocks) do
    local from = block.dirty_from
    if from then
      local lines = vim.list_slice(block.lines, from)
      -- A buffer is never without a line: the empty one of a new buffer is replaced.
      local finish = total == 0 and -1 or row + block.shown
      vim.api.nvim_buf_set_lines(buf, row + math.min(from - 1, block.shown), finish, false, lines)
      total = total + #block.lines - block.shown
      block.shown = #block.lines
      block.dirty_from = nil
    end
    row = row + block.shown
  end
end

local function flush()
  state.flush_planned = false
  local buf = buffer()
  local followers = following(buf)
  vim.bo[buf].modifiable = true
  local written = pcall(write, buf)
  vim.bo[buf].modifiable = false
  vim.bo[buf].modified = false
  if not written then
    -- Text is locked while an expression mapping runs: the lines are still marked, so nothing is lost.
    state.flush_planned = true
    vim.defer_fn(flush, 20)
    return
  end
  local last = vim.api.nvim_buf_line_count(buf)
  for _, window in ipairs(followers) do
    if vim.api.nvim_win_is_valid(window) then
      vim.api.nvim_win_set_cursor(window, { last, 0 })
    end
  end
  countdown.draw()
end

--- Writes all that has changed, once in this turn of the event loop.
local function plan_flush()
  state.levels = nil
  if not state.flush_planned then
    state.flush_planned = true
    vim.schedule(flush)
  end
end

--- Renders anew; the buffer is changed from the first line that differs.
---@param block copydesk.Block
local function redraw(block)
  local lines, levels = render.block(block)
  local same = 0
  while same < #lines and lines[same + 1] == block.lines[same + 1] do
    same = same + 1
  end
  if same < #lines or #lines < #block.lines then
    block.dirty_from = math.min(block.dirty_from or math.huge, same + 1)
  end
  block.lines, block.levels = lines, levels
  plan_flush()
end

---@param kind string
---@param fields table
---@return copydesk.Block
local function push(kind, fields)
  local above = state.blocks[#state.blocks]
  local block = vim.tbl_extend('force', fields, {
    kind = kind,
    lines = {},
    levels = {},
    shown = 0,
    gap = above ~= nil and not (above.kind == kind and (kind == 'tool' or kind == 'notice')),
  })
  state.blocks[#state.blocks + 1] = block
  redraw(block)
  return block
end

local function agent_heading()
  if not state.answering then
    state.answering = true
    push('heading', { text = '# Copydesk' })
  end
end

--- Grows a streamed block by a delta without rendering it whole.
---@param block copydesk.Block
---@param delta string
local function grow(block, delta)
  block.text = block.text .. delta
  local quote = block.kind == 'thought'
  local added = render.split(delta)
  local last = #block.lines
  block.dirty_from = math.min(block.dirty_from or math.huge, last)
  for index, line in ipairs(added) do
    if index == 1 then
      block.lines[last] = block.lines[last] .. line
    else
      block.lines[#block.lines + 1] = quote and '> ' .. line or line
      block.levels[#block.levels + 1] = quote and 1 or 0
    end
  end
  plan_flush()
end

--- A streamed piece of a message.
---@param kind 'user'|'text'|'thought'
---@param content table A content block of ACP.
---@param message? string Id of the message.
function M.append(kind, content, message)
  local delta = render.text_of(content)
  local last = state.blocks[#state.blocks]
  if last and last.kind == kind and last.message == message and last.text and not (kind == 'user' and not message) then
    grow(last, delta)
    return
  end
  if delta == '' then
    return
  end
  if kind == 'user' then
    state.answering = false
    push('heading', { text = '# You' })
  else
    agent_heading()
  end
  push(kind, { text = delta, message = message })
end

--- What the user has sent, with all that goes with it.
---@param text string
---@param contexts copydesk.Context[]
function M.user(text, contexts)
  state.answering = false
  state.plan = nil
  push('heading', { text = '# You' })
  push('user', { text = text })
  for _, context in ipairs(contexts) do
    push('tool', {
      call = {
        title = 'with ' .. context.name,
        status = 'completed',
        content = { { type = 'content', content = { type = 'text', text = context.text } } },
      },
    })
  end
end

--- A tool call, or news of one.
---@param update table
function M.tool(update)
  local block = state.calls[update.toolCallId]
  if not block then
    agent_heading()
    block = push('tool', { call = { toolCallId = update.toolCallId } })
    state.calls[update.toolCallId] = block
  end
  for _, field in ipairs({ 'title', 'kind', 'status', 'content', 'rawInput' }) do
    if update[field] ~= nil then
      block.call[field] = update[field]
    end
  end
  redraw(block)
end

--- Marks a call that waits for the user; its next update takes the mark off.
---@param id string
---@param asked boolean
function M.mark_asked(id, asked)
  local block = state.calls[id]
  if block and (block.call.status == 'asked') ~= asked then
    block.call.status = asked and 'asked' or 'pending'
    redraw(block)
  end
end

--- The tool call that a line of the conversation shows.
---@param line integer From 1.
---@return string? id
function M.call_at(line)
  local first = 1
  for _, block in ipairs(state.blocks) do
    if line < first + block.shown then
      return line >= first and block.call and block.call.toolCallId or nil
    end
    first = first + block.shown
  end
end

---@param entries table[]
function M.plan(entries)
  agent_heading()
  if state.plan then
    state.plan.entries = entries
    redraw(state.plan)
  else
    state.plan = push('plan', { entries = entries })
  end
end

---@param text string
---@param level? 'info'|'warn'|'error'
function M.notice(text, level)
  local prefix = level == 'error' and '**Error:** ' or level == 'warn' and '**Note:** ' or ''
  push('notice', { text = prefix .. text })
end

--- The model is asked again after a wait, which ticks down until then.
---@param retry copydesk.Retry
---@param changed fun() Called with each tick, and at the end.
function M.wait(retry, changed)
  countdown.start(retry, buffer(), changed)
end

--- The turn is over: what still ran is shown as interrupted.
---@param text? string
---@param level? 'info'|'warn'|'error'
function M.end_turn(text, level)
  countdown.stop()
  for _, block in pairs(state.calls) do
    local status = block.call.status
    if status ~= 'completed' and status ~= 'failed' and status ~= 'interrupted' then
      block.call.status = 'interrupted'
      redraw(block)
    end
  end
  state.plan = nil
  state.answering = false
  if text then
    M.notice(text, level)
  end
end

function M.clear()
  countdown.stop()
  state.blocks, state.calls, state.plan, state.answering = {}, {}, nil, false
  state.levels = nil
  if state.buffer and vim.api.nvim_buf_is_valid(state.buffer) then
    vim.bo[state.buffer].modifiable = true
    vim.api.nvim_buf_set_lines(state.buffer, 0, -1, false, {})
    vim.bo[state.buffer].modifiable = false
    vim.bo[state.buffer].modified = false
  end
end

--- For 'foldexpr': output and thoughts are folded.
---@param line? integer
---@return integer|string
function M.foldexpr(line)
  if not state.levels then
    state.levels = {}
    for _, block in ipairs(state.blocks) do
      vim.list_extend(state.levels, block.levels)
    end
  end
  return state.levels[line or vim.v.lnum] or 0
end

---@param count integer
---@return string
local function plural(count)
  return count == 1 and '1 line' or count .. ' lines'
end

--- For 'foldtext'.
---@return string
function M.foldtext()
  local first = vim.fn.getline(vim.v.foldstart)
  local count = vim.v.foldend - vim.v.foldstart
  if vim.startswith(first, '`') then
    return ('    + %s of output'):format(plural(count - 1))
  end
  return ('%s (%s)'):format(first, plural(count))
end

--- For 'winbar'.
---@return string
function M.winbar()
  local text = require('copydesk').statusline()
  return (text == '' and 'Copydesk' or text):gsub('%%', '%%%%')
end

---@param window integer
local function dress(window)
  local position = config.get().layout.position
  local options = {
    breakindent = true,
    -- Markdown's concealing hides the marks of tool calls, and fences with the folds that begin on them.
    conceallevel = 0,
    foldenable = true,
    foldexpr = "v:lua.require'copydesk.chat'.foldexpr()",
    foldlevel = 0,
    foldmethod = 'expr',
    foldtext = "v:lua.require'copydesk.chat'.foldtext()",
    linebreak = true,
    number = false,
    relativenumber = false,
    signcolumn = 'no',
    spell = false,
    winbar = "%{%v:lua.require'copydesk.chat'.winbar()%}",
    winfixbuf = true,
    winfixheight = position == 'bottom',
    winfixwidth = position == 'left' or position == 'right',
    wrap = true,
  }
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { scope = 'local', win = window })
  end
end

--- The window of this tab that shows the conversation; where it has a tab of its own, that one.
---@return integer?
function M.window()
  if not (state.buffer and vim.api.nvim_buf_is_valid(state.buffer)) then
    return nil
  end
  for _, window in ipairs(vim.fn.win_findbuf(state.buffer)) do
    local is_here = vim.api.nvim_win_get_tabpage(window) == vim.api.nvim_get_current_tabpage()
    if is_here or config.get().layout.position == 'tab' then
      return window
    end
  end
end

--- Shows the conversation.
---@param focus boolean Whether the cursor goes there.
---@return integer window
function M.open(focus)
  local window = M.window()
  if window then
    if focus then
      vim.api.nvim_set_current_win(window)
    end
    return window
  end
  local layout = config.get().layout
  local buf = buffer()
  if layout.position == 'tab' then
    local origin = vim.api.nvim_get_current_win()
    vim.cmd('tab sbuffer ' .. buf)
    window = vim.api.nvim_get_current_win()
    if not focus then
      vim.api.nvim_set_current_win(origin)
    end
  else
    local below = layout.position == 'bottom'
    local whole = below and vim.o.lines or vim.o.columns
    local size = math.max(1, math.floor(layout.size < 1 and whole * layout.size or layout.size))
    window = vim.api.nvim_open_win(buf, focus, {
      split = below and 'below' or layout.position,
      win = -1,
      [below and 'height' or 'width'] = size,
    })
  end
  dress(window)
  vim.api.nvim_win_set_cursor(window, { vim.api.nvim_buf_line_count(buf), 0 })
  plan_flush()
  return window
end

--- Hides the conversation in this tab, or closes its own.
function M.close()
  local window = M.window()
  if not window then
    return
  end
  local is_last = #vim.tbl_filter(function(other)
    return vim.api.nvim_win_get_config(other).relative == ''
  end, vim.api.nvim_tabpage_list_wins(vim.api.nvim_win_get_tabpage(window))) == 1
  if is_last and vim.fn.tabpagenr('$') == 1 then
    vim.wo[window].winfixbuf = false
    vim.api.nvim_win_call(window, vim.cmd.enew)
  else
    vim.api.nvim_win_close(window, false)
  end
end

return M
