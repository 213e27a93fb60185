-- The options of `setup()`: their defaults and their check. Holds no state but the options in force.

---@class copydesk.Layout
---@field position 'right'|'left'|'bottom'|'tab' Where the conversation opens.
---@field size number Columns or lines; below 1, a share of the editor.
---@field prompt 'split'|'float' How the prompt window opens.
---@field prompt_height integer Lines of the prompt window.

---@class copydesk.Keymaps
---@field chat table<string, string|string[]|false> Action to keys, in the conversation.
---@field prompt table<string, string|string[]|false> Action to keys, in the prompt window.
---@field changes table<string, string|string[]|false> Action to keys, in buffers with hunks that are undecided.

---@class copydesk.ChangesOptions
---@field signs table<string, string|false>|false Of one or two cells each, by kind of hunk.
---@field priority integer Of the signs.

---@class copydesk.Options
---@field cmd string[] The command that starts the daemon.
---@field env table<string, string> Added to the environment of the daemon.
---@field root (fun(): string)|string|nil The workspace folder; nil: found by `root_markers`, else the current folder.
---@field root_markers string[]
---@field layout copydesk.Layout
---@field keymaps copydesk.Keymaps|false
---@field changes copydesk.ChangesOptions
---@field settings table Sent as the client's settings (`workspace/configuration`).
---@field start_timeout integer Milliseconds that the daemon has to answer `initialize`.
---@field restart { attempts: integer, delay: integer } How often a daemon that crashed is started again, and after how many milliseconds first; the delay doubles.

local M = {}

---@type copydesk.Options
M.defaults = {
  cmd = { 'copydesk', 'serve' },
  env = {},
  root = nil,
  root_markers = { 'copydesk.jsonc', '.copydesk', 'opencode.json', '.opencode', '.git', '.hg', '.jj' },
  layout = { position = 'right', size = 0.4, prompt = 'split', prompt_height = 6 },
  keymaps = {
    chat = {
      prompt = 'i',
      answer = 'a',
      cancel = '<C-c>',
      undo = 'u',
      close = 'q',
    },
    prompt = {
      send = '<CR>',
      send_anywhere = '<C-s>',
      older = '<C-p>',
      newer = '<C-n>',
      drop_context = '<C-x>',
      cancel = '<C-c>',
      close = 'q',
    },
    changes = {
      next = ']h',
      previous = '[h',
      hunk = '<leader>hp',
      accept = '<leader>ha',
      reject = '<leader>hr',
      accept_file = '<leader>hA',
      reject_file = '<leader>hR',
      accept_all = false,
      reject_all = false,
      changes = false,
      diff = false,
      undo = false,
      redo = false,
    },
  },
  changes = { signs = { add = '+', change = '~', delete = '_', top_delete = '‾' }, priority = 20 },
  settings = {},
  start_timeout = 10000,
  restart = { attempts = 3, delay = 500 },
}

---@type copydesk.Options
local current = vim.deepcopy(M.defaults)
---@type string[]
local problems = {}

--- Shapes of the options, by dotted name; what is not here is unknown.
local shapes = {
  cmd = 'list',
  env = 'table',
  root = { 'function', 'string' },
  root_markers = 'list',
  layout = 'table',
  ['layout.position'] = { one_of = { 'right', 'left', 'bottom', 'tab' } },
  ['layout.size'] = 'number',
  ['layout.prompt'] = { one_of = { 'split', 'float' } },
  ['layout.prompt_height'] = 'number',
  keymaps = { or_false = 'table' },
  ['keymaps.chat'] = { or_false = 'table' },
  ['keymaps.prompt'] = { or_false = 'table' },
  ['keymaps.changes'] = { or_false = 'table' },
  changes = 'table',
  ['changes.signs'] = { or_false = 'table' },
  ['changes.signs.add'] = 'sign',
  ['changes.signs.change'] = 'sign',
  ['changes.signs.delete'] = 'sign',
  ['changes.signs.top_delete'] = 'sign',
  ['changes.priority'] = 'number',
  settings = 'table',
  start_timeout = 'number',
  restart = 'table',
  ['restart.attempts'] = 'number',
  ['restart.delay'] = 'number',
}

--- Sections whose keys are the user's own.
local open = { env = true, settings = true, root_markers = true, cmd = true }

local mismatch

---@param value any
---@param shape any
---@return string? expected What was expected, where the value is wrong.
function mismatch(value, shape)
  if shape == 'list' then
    local fits = type(value) == 'table' and vim.islist(value) and #value > 0
    for _, item in ipairs(fits and value or {}) do
      fits = fits and type(item) == 'string'
    end
    return not fits and 'a list of strings' or nil
  end
  if shape == 'sign' then
    local cells = type(value) == 'string' and vim.fn.strdisplaywidth(value) or 0
    return value ~= false and (cells < 1 or cells > 2) and 'one or two cells wide, or false' or nil
  end
  if type(shape) == 'string' then
    return type(value) ~= shape and ('a ' .. shape) or nil
  end
  if shape.or_false then
    local expected = value ~= false and mismatch(value, shape.or_false) or nil
    return expected and expected .. ' or false'
  end
  if shape.one_of then
    return not vim.list_contains(shape.one_of, value) and ('one of ' .. table.concat(shape.one_of, ', ')) or nil
  end
  return not vim.list_contains(shape, type(value)) and ('a ' .. table.concat(shape, ' or ')) or nil
end

---@param keymaps table<string, any>
---@param section 'chat'|'prompt'|'changes'
---@param found string[]
local function check_keymaps(keymaps, section, found)
  for action, keys in pairs(keymaps) do
    local name = ('keymaps.%s.%s'):format(section, action)
    if M.defaults.keymaps[section][action] == nil then
      found[#found + 1] = ('unknown option `%s`'):format(name)
    elseif keys ~= false and type(keys) ~= 'string' and mismatch(keys, 'list') then
      found[#found + 1] = ('`%s` must be a key, a list of keys or false'):format(name)
    end
  end
end

--- What is wrong with these options, one sentence each.
---@param opts table
---@return string[]
function M.check(opts)
  local found = {}
  ---@param section table
  ---@param prefix string
  local function walk(section, prefix)
    for key, value in pairs(section) do
      local name = prefix .. tostring(key)
      local shape = shapes[name]
      if not shape then
        found[#found + 1] = ('unknown option `%s`'):format(name)
      else
        local expected = mismatch(value, shape)
        if expected then
          found[#found + 1] = ('`%s` must be %s'):format(name, expected)
        elseif prefix == 'keymaps.' and value then
          check_keymaps(value, key, found)
        elseif type(value) == 'table' and not open[name] then
          walk(value, name .. '.')
        end
      end
    end
  end
  walk(opts, '')
  table.sort(found)
  return found
end

--- Takes the options over the defaults. Where one is wrong, the defaults of its section stay in force.
---@param opts? table
---@return string[] problems
function M.set(opts)
  opts = opts or {}
  problems = type(opts) == 'table' and M.check(opts) or { 'the options must be a table' }
  local usable = {}
  for key, value in pairs(type(opts) == 'table' and opts or {}) do
    if #M.check({ [key] = value }) == 0 then
      usable[key] = value
    end
  end
  current = vim.tbl_deep_extend('force', vim.deepcopy(M.defaults), usable)
  return problems
end

---@return copydesk.Options
function M.get()
  return current
end

--- The keys of one action: none, one or several.
---@param keys string|string[]|false
---@return string[]
function M.keys(keys)
  if not keys then
    return {}
  end
  return type(keys) == 'table' and keys or { keys }
end

---@return string[]
function M.problems()
  return problems
end

--- The workspace folder, as of the current buffer and folder.
---@return string
function M.root()
  local root = current.root
  if type(root) == 'function' then
    root = root()
  end
  if type(root) == 'string' and root ~= '' then
    return vim.fs.normalize(vim.fn.fnamemodify(root, ':p')):gsub('(.)/$', '%1')
  end
  local buffer = vim.api.nvim_get_current_buf()
  local from = vim.bo[buffer].buftype == '' and vim.api.nvim_buf_get_name(buffer) ~= '' and buffer or vim.fn.getcwd()
  return vim.fs.root(from, current.root_markers) or vim.fn.getcwd()
end

return M
