-- A form of ACP (`elicitation/create`) in the editor's own menus: one field after the other by `vim.ui.select` and `vim.ui.input`.
-- When it comes up, and that it waits for an answer, is known by `ask.lua`.

local M = {}

local OTHER = '_other'
local DISMISS = 'Dismiss the question'
local ELSE = 'Something else …'
local DONE = 'That is all'

---@class copydesk.Choice
---@field const string
---@field title string
---@field description? string

---@class copydesk.Field
---@field name string
---@field title string
---@field choices copydesk.Choice[] None: the user writes.
---@field multiple boolean
---@field other? string The field for own words beside the choices.

---@class copydesk.Form
---@field fields copydesk.Field[]
---@field at integer The field that is asked next.
---@field content table<string, string|string[]> What was filled in.
---@field input boolean It is a line for a command: an empty one counts too.
---@field secret boolean What is typed is not shown.

---@param property table
---@return copydesk.Choice[]
local function choices_of(property)
  local items = type(property.items) == 'table' and property.items or property
  local titled = items.oneOf or items.anyOf
  if type(titled) == 'table' then
    return titled
  end
  return vim.tbl_map(function(value)
    return { const = value, title = value }
  end, type(items.enum) == 'table' and items.enum or {})
end

--- Fields in the order of their names, which is that of the questions.
---@param params { message: string, requestedSchema: table }
---@return copydesk.Form
function M.new(params)
  local properties = params.requestedSchema.properties or {}
  local names = vim.tbl_keys(properties)
  table.sort(names)
  local fields = {}
  for _, name in ipairs(names) do
    local property = properties[name]
    local beside = vim.endswith(name, OTHER) and name:sub(1, -#OTHER - 1)
    if property.type == 'string' or property.type == 'array' then
      if not (beside and properties[beside]) then
        fields[#fields + 1] = {
          name = name,
          title = property.description or property.title or name,
          choices = choices_of(property),
          multiple = property.type == 'array',
          other = properties[name .. OTHER] and name .. OTHER or nil,
        }
      end
    end
  end
  for _, field in ipairs(fields) do
    if #fields == 1 then
      field.title = params.message
    elseif #field.choices == 0 then
      -- What stands below such a field says how to fill it in.
      field.title = properties[field.name].title or field.title
    end
  end
  return {
    fields = fields,
    at = 1,
    content = {},
    input = vim.tbl_get(params, '_meta', 'copydesk', 'input') == true,
    secret = vim.tbl_get(params, '_meta', 'copydesk', 'secret') == true,
  }
end

---@param choice copydesk.Choice
---@return string
local function row_of(choice)
  local title = choice.title or choice.const
  return choice.description and choice.description ~= '' and ('%s: %s'):format(title, choice.description) or title
end

--- Asks for what is left of the form.
---@param form copydesk.Form
---@param proceed fun(run: fun()) Goes on, if anybody still waits for the answer.
---@param done fun(result?: table) With ACP's answer; with none where the user has left the menu without an answer.
function M.ask(form, proceed, done)
  local field = form.fields[form.at]
  if not field then
    done({ action = 'accept', content = next(form.content) and form.content or vim.empty_dict() })
    return
  end
  local function go_on()
    form.at = form.at + 1
    M.ask(form, proceed, done)
  end

  -- No plugin's input sees what is not to be shown.
  if form.secret then
    local typed, text = pcall(vim.fn.inputsecret, { prompt = field.title .. ' ', cancelreturn = vim.NIL })
    proceed(function()
      if not typed or text == vim.NIL then
        done({ action = 'decline' })
      else
        form.content[field.name] = text
        go_on()
      end
    end)
    return
  end

  ---@param name string
  local function write(name)
    vim.ui.input({ prompt = (field.title:gsub('%s*[\r\n]+%s*', ' ')) .. ' ' }, function(text)
      proceed(function()
        if not text then
          done(nil)
        elseif vim.trim(text) == '' and not form.input then
          M.ask(form, proceed, done)
        else
          if form.input and vim.fn.histget('@', -1) == text then
            vim.fn.histdel('@', -1)
          end
          form.content[name] = text
          go_on()
        end
      end)
    end)
  end

  if #field.choices == 0 then
    write(field.name)
    return
  end
  local chosen = field.multiple and form.content[field.name] or {}
  ---@type copydesk.Item[]
  local rows = {}
  for _, choice in ipairs(field.choices) do
    local is_chosen = vim.list_contains(chosen, choice.const)
    rows[#rows + 1] = {
      name = (field.multiple and (is_chosen and '[x] ' or '[ ] ') or '') .. row_of(choice),
      run = function()
        if not field.multiple then
          form.content[field.name] = choice.const
          go_on()
          return
        end
        form.content[field.name] = vim.tbl_filter(function(other)
          return other ~= choice.const
        end, chosen)
        if not is_chosen then
          table.insert(form.content[field.name], choice.const)
        end
        M.ask(form, proceed, done)
      end,
    }
  end
  if field.multiple then
    rows[#rows + 1] = { name = DONE, run = go_on }
  end
  if field.other then
    rows[#rows + 1] = {
      name = ELSE,
      run = function()
        write(field.other)
      end,
    }
  end
  rows[#rows + 1] = {
    name = DISMISS,
    run = function()
      done({ action = 'decline' })
    end,
  }
  vim.ui.select(rows, {
    prompt = ('Copydesk: %s'):format(field.title),
    kind = 'copydesk_question',
    format_item = function(row)
      return row.name
    end,
  }, function(row)
    proceed(row and row.run or function()
      done(nil)
    end)
  end)
end

return M
