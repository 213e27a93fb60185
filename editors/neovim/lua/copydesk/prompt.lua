-- The window in which a prompt is written: its text, what goes with it, and the prompts sent before.

local chat = require('copydesk.chat')
local config = require('copydesk.config')
local windows = require('copydesk.windows')

local M = {}

local NAME = 'copydesk://prompt'
local PREVIEW_LINES = 8
local namespace = vim.api.nvim_create_namespace('copydesk.prompt')

local state = {
  ---@type integer?
  buffer = nil,
  ---@type copydesk.Context[]
  contexts = {},
  ---@type string[] Oldest first.
  history = {},
  ---@type integer? Place in the history; nil: the text being written.
  place = nil,
  draft = '',
}

---@return integer?
local function window()
  if state.buffer and vim.api.nvim_buf_is_valid(state.buffer) then
    local shown = vim.fn.win_findbuf(state.buffer)
    return shown[1]
  end
end

---@return string
local function text()
  return vim.trim(table.concat(vim.api.nvim_buf_get_lines(state.buffer, 0, -1, false), '\n'))
end

---@param value string
local function set_text(value)
  vim.api.nvim_buf_set_lines(state.buffer, 0, -1, false, vim.split(value, '\n', { plain = true }))
  local shown = window()
  if shown then
    local last = vim.api.nvim_buf_line_count(state.buffer)
    vim.api.nvim_win_set_cursor(shown, { last, #vim.fn.getbufline(state.buffer, last)[1] })
  end
end

--- Shows what will be sent with the text (R15.1), below it.
local function show_contexts()
  if not (state.buffer and vim.api.nvim_buf_is_valid(state.buffer)) then
    return
  end
  vim.api.nvim_buf_clear_namespace(state.buffer, namespace, 0, -1)
  local shown = {}
  for _, context in ipairs(state.contexts) do
    shown[#shown + 1] = { { 'with ' .. context.name, 'Title' } }
    local lines = vim.split(context.text, '\n', { plain = true })
    for _, line in ipairs(vim.list_slice(lines, 1, PREVIEW_LINES)) do
      shown[#shown + 1] = { { '  ' .. line, 'Comment' } }
    end
    if #lines > PREVIEW_LINES then
      shown[#shown + 1] = { { ('  ... and %d lines more'):format(#lines - PREVIEW_LINES), 'Comment' } }
    end
  end
  if #shown > 0 then
    local last = vim.api.nvim_buf_line_count(state.buffer) - 1
    vim.api.nvim_buf_set_extmark(state.buffer, namespace, last, 0, { virt_lines = shown })
  end
end

function M.close()
  local shown = window()
  if not shown then
    return
  end
  if vim.api.nvim_get_current_win() == shown then
    vim.cmd.stopinsert()
  end
  vim.api.nvim_win_close(shown, true)
end

--- Sends the text with its context; an empty one is not sent.
function M.send()
  local value = text()
  if value == '' then
    return
  end
  local contexts = state.contexts
  if state.history[#state.history] ~= value then
    state.history[#state.history + 1] = value
  end
  state.contexts, state.place, state.draft = {}, nil, ''
  set_text('')
  show_contexts()
  M.close()
  chat.open(false)
  require('copydesk.session').prompt(value, contexts)
end

--- Walks through the prompts sent before.
---@param step -1|1
local function walk(step)
  local place = (state.place or #state.history + 1) + step
  if place < 1 or place > #state.history + 1 then
    return
  end
  if not state.place then
    state.draft = text()
  end
  state.place = place <= #state.history and place or nil
  set_text(state.history[place] or state.draft)
  show_contexts()
end

---@param buf integer
local function map_keys(buf)
  local keymaps = config.get().keymaps
  ---@type table<string, { modes: string|string[], run: fun() }>
  local actions = {
    send = { modes = 'n', run = M.send },
    send_anywhere = { modes = { 'n', 'i' }, run = M.send },
    older = {
      modes = 'n',
      run = function()
        walk(-1)
      end,
    },
    newer = {
      modes = 'n',
      run = function()
        walk(1)
      end,
    },
    drop_context = {
      modes = 'n',
      run = function()
        state.contexts = {}
        show_contexts()
      end,
    },
    cancel = {
      modes = 'n',
      run = function()
        require('copydesk.session').cancel()
      end,
    },
    close = { modes = 'n', run = M.close },
  }
  for action, key in pairs(keymaps and keymaps.prompt or {}) do
    for _, lhs in ipairs(config.keys(key)) do
      vim.keymap.set(actions[action].modes, lhs, actions[action].run, { buffer = buf, desc = 'Copydesk: ' .. action })
    end
  end
end

--- For 'omnifunc': the commands of the daemon, at the beginning of the prompt.
---@param find_start 0|1
---@param base string
---@return integer|table[]
function M.complete(find_start, base)
  if find_start == 1 then
    local line = vim.api.nvim_get_current_line():sub(1, vim.fn.col('.') - 1)
    return vim.fn.line('.') == 1 and line:find('^/%S*$') and 0 or -3
  end
  local found = {}
  for _, command in ipairs(require('copydesk.session').commands()) do
    local word = '/' .. command.name
    if vim.startswith(word, base) then
      found[#found + 1] = { word = word, menu = command.description }
    end
  end
  return found
end

---@return integer
local function buffer()
  if state.buffer and vim.api.nvim_buf_is_valid(state.buffer) then
    return state.buffer
  end
  local buf = windows.named(NAME)
  state.buffer = buf
  vim.bo[buf].bufhidden = 'hide'
  vim.bo[buf].filetype = 'copydesk-prompt'
  vim.treesitter.language.register('markdown', 'copydesk-prompt')
  pcall(vim.treesitter.start, buf, 'markdown')
  vim.bo[buf].omnifunc = "v:lua.require'copydesk.prompt'.complete"
  map_keys(buf)
  vim.api.nvim_create_autocmd('TextChanged', { buffer = buf, callback = show_contexts })
  return buf
end

--- Opens the prompt window, with the cursor in it.
---@param contexts? copydesk.Context[] Added to what goes with the prompt already.
function M.open(contexts)
  vim.list_extend(state.contexts, contexts or {})
  local shown = window()
  if shown then
    vim.api.nvim_set_current_win(shown)
  else
    local layout = config.get().layout
    local height = math.max(1, math.floor(layout.prompt_height))
    local buf = buffer()
    if layout.prompt == 'float' then
      local width = math.max(20, math.floor(vim.o.columns * 0.6))
      shown = vim.api.nvim_open_win(buf, true, {
        relative = 'editor',
        row = math.max(0, math.floor((vim.o.lines - height) / 2) - 1),
        col = math.floor((vim.o.columns - width) / 2),
        width = width,
        height = height,
        border = 'rounded',
        title = ' Copydesk ',
      })
    else
      local below = chat.open(false)
      shown = vim.api.nvim_open_win(buf, true, { split = 'below', win = below, height = height })
      vim.wo[shown][0].winbar = 'Prompt'
      vim.wo[shown][0].winfixheight = true
    end
    vim.wo[shown][0].number = false
    vim.wo[shown][0].relativenumber = false
    vim.wo[shown][0].signcolumn = 'no'
    vim.wo[shown][0].wrap = true
    vim.wo[shown][0].winfixbuf = true
  end
  show_contexts()
  vim.cmd.startinsert({ bang = true })
end

return M
